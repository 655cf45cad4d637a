// SPDX-License-Identifier: Apache-2.0
#include "api/object/core_type_text.h"

#include <array>

namespace corehold {
namespace {

constexpr auto kTypes = std::to_array<TypeText>({
    // Every object.
    {"ObjectMeta",
     "name string; generateName string; namespace string; selfLink string; uid types.UID;"
     "resourceVersion string; generation int64; creationTimestamp Time; deletionTimestamp *Time;"
     "deletionGracePeriodSeconds *int64; labels map[string]string;"
     "annotations map[string]string; ownerReferences []OwnerReference; finalizers []string;"
     "managedFields []ManagedFieldsEntry"},
    {"OwnerReference",
     "apiVersion! string; kind! string; name! string; uid! types.UID; controller *bool;"
     "blockOwnerDeletion *bool"},
    {"ManagedFieldsEntry",
     "manager string; operation ManagedFieldsOperationType; apiVersion string; time *Time;"
     "fieldsType string; fieldsV1 any; subresource string"},
    {"LabelSelector", "matchLabels map[string]string; matchExpressions []LabelSelectorRequirement"},
    {"LabelSelectorRequirement", "key! string; operator! LabelSelectorOperator; values []string"},

    // Pods.
    {"Pod",
     "kind string; apiVersion string; metadata! ObjectMeta; spec! PodSpec; status! PodStatus"},
    {"PodSpec",
     "volumes []Volume; initContainers []Container; containers! []Container;"
     "ephemeralContainers []EphemeralContainer; restartPolicy RestartPolicy;"
     "terminationGracePeriodSeconds *int64; activeDeadlineSeconds *int64; dnsPolicy DNSPolicy;"
     "nodeSelector map[string]string; serviceAccountName string; serviceAccount string;"
     "automountServiceAccountToken *bool; nodeName string; hostNetwork bool; hostPID bool;"
     "hostIPC bool; shareProcessNamespace *bool; securityContext *PodSecurityContext;"
     "imagePullSecrets []LocalObjectReference; hostname string; subdomain string;"
     "affinity *Affinity; schedulerName string; tolerations []Toleration;"
     "hostAliases []HostAlias; priorityClassName string; priority *int32;"
     "dnsConfig *PodDNSConfig; readinessGates []PodReadinessGate; runtimeClassName *string;"
     "enableServiceLinks *bool; preemptionPolicy *PreemptionPolicy; overhead ResourceList;"
     "topologySpreadConstraints []TopologySpreadConstraint; setHostnameAsFQDN *bool;"
     "os *PodOS; hostUsers *bool; schedulingGates []PodSchedulingGate;"
     "resourceClaims []PodResourceClaim; resources *ResourceRequirements;"
     "hostnameOverride *string; workloadRef *any; schedulingGroup *any"},
    {"Container",
     "name! string; image string; command []string; args []string; workingDir string;"
     "ports []ContainerPort; envFrom []EnvFromSource; env []EnvVar;"
     "resources ResourceRequirements; resizePolicy []ContainerResizePolicy;"
     "restartPolicy *ContainerRestartPolicy; restartPolicyRules []ContainerRestartRule;"
     "volumeMounts []VolumeMount; volumeDevices []VolumeDevice; livenessProbe *Probe;"
     "readinessProbe *Probe; startupProbe *Probe; lifecycle *Lifecycle;"
     "terminationMessagePath string; terminationMessagePolicy TerminationMessagePolicy;"
     "imagePullPolicy PullPolicy; securityContext *SecurityContext; stdin bool;"
     "stdinOnce bool; tty bool"},
    {"EphemeralContainer", "...Container; targetContainerName string"},
    {"ContainerPort",
     "name string; hostPort int32; containerPort! int32; protocol Protocol; hostIP string"},
    {"EnvFromSource",
     "prefix string; configMapRef *ConfigMapEnvSource; secretRef *SecretEnvSource"},
    {"ConfigMapEnvSource", "name string; optional *bool"},
    {"SecretEnvSource", "name string; optional *bool"},
    {"EnvVar", "name! string; value string; valueFrom *EnvVarSource"},
    {"EnvVarSource",
     "fieldRef *ObjectFieldSelector; resourceFieldRef *ResourceFieldSelector;"
     "configMapKeyRef *ConfigMapKeySelector; secretKeyRef *SecretKeySelector;"
     "fileKeyRef *FileKeySelector"},
    {"ObjectFieldSelector", "apiVersion string; fieldPath! string"},
    {"ResourceFieldSelector", "containerName string; resource! string; divisor! Quantity"},
    {"ConfigMapKeySelector", "name string; key! string; optional *bool"},
    {"SecretKeySelector", "name string; key! string; optional *bool"},
    {"FileKeySelector", "volumeName! string; path! string; key! string; optional *bool"},
    {"ResourceRequirements", "limits ResourceList; requests ResourceList; claims []ResourceClaim"},
    {"ResourceClaim", "name! string; request string"},
    {"ContainerResizePolicy",
     "resourceName! ResourceName; restartPolicy! ResourceResizeRestartPolicy"},
    {"ContainerRestartRule",
     "action ContainerRestartRuleAction; exitCodes *ContainerRestartRuleOnExitCodes"},
    {"ContainerRestartRuleOnExitCodes",
     "operator ContainerRestartRuleOnExitCodesOperator; values []int32"},
    {"VolumeMount",
     "name! string; readOnly bool; recursiveReadOnly *RecursiveReadOnlyMode; mountPath! string;"
     "subPath string; mountPropagation *MountPropagationMode; subPathExpr string;"
     "bindMountOptions []string"},
    {"VolumeDevice", "name! string; devicePath! string"},
    {"Probe",
     "exec *ExecAction; httpGet *HTTPGetAction; tcpSocket *TCPSocketAction; grpc *GRPCAction;"
     "initialDelaySeconds int32; timeoutSeconds int32; periodSeconds int32;"
     "successThreshold int32; failureThreshold int32; terminationGracePeriodSeconds *int64"},
    {"ExecAction", "command []string"},
    {"HTTPGetAction",
     "path string; port! IntOrString; host string; scheme URIScheme; httpHeaders []HTTPHeader"},
    {"HTTPHeader", "name! string; value! string"},
    {"TCPSocketAction", "port! IntOrString; host string"},
    {"GRPCAction", "port! int32; service! *string"},
    {"SleepAction", "seconds! int64"},
    {"Lifecycle", "postStart *LifecycleHandler; preStop *LifecycleHandler; stopSignal *Signal"},
    {"LifecycleHandler",
     "exec *ExecAction; httpGet *HTTPGetAction; tcpSocket *TCPSocketAction; sleep *SleepAction"},
    {"SecurityContext",
     "capabilities *Capabilities; privileged *bool; seLinuxOptions *SELinuxOptions;"
     "windowsOptions *WindowsSecurityContextOptions; runAsUser *int64; runAsGroup *int64;"
     "runAsNonRoot *bool; readOnlyRootFilesystem *bool; allowPrivilegeEscalation *bool;"
     "procMount *ProcMountType; seccompProfile *SeccompProfile;"
     "appArmorProfile *AppArmorProfile"},
    {"Capabilities", "add []Capability; drop []Capability"},
    {"SELinuxOptions", "user string; role string; type string; level string"},
    {"WindowsSecurityContextOptions",
     "gmsaCredentialSpecName *string; gmsaCredentialSpec *string; runAsUserName *string;"
     "hostProcess *bool"},
    {"SeccompProfile", "type! SeccompProfileType; localhostProfile *string"},
    {"AppArmorProfile", "type! AppArmorProfileType; localhostProfile *string"},
    {"PodSecurityContext",
     "seLinuxOptions *SELinuxOptions; windowsOptions *WindowsSecurityContextOptions;"
     "runAsUser *int64; runAsGroup *int64; runAsNonRoot *bool; supplementalGroups []int64;"
     "supplementalGroupsPolicy *SupplementalGroupsPolicy; fsGroup *int64; sysctls []Sysctl;"
     "fsGroupChangePolicy *PodFSGroupChangePolicy; seccompProfile *SeccompProfile;"
     "appArmorProfile *AppArmorProfile; seLinuxChangePolicy *PodSELinuxChangePolicy"},
    {"Sysctl", "name! string; value! string"},
    {"LocalObjectReference", "name string"},
    {"Toleration",
     "key string; operator TolerationOperator; value string; effect TaintEffect;"
     "tolerationSeconds *int64"},
    {"HostAlias", "ip! string; hostnames []string"},
    {"PodDNSConfig", "nameservers []string; searches []string; options []PodDNSConfigOption"},
    {"PodDNSConfigOption", "name string; value *string"},
    {"PodReadinessGate", "conditionType! PodConditionType"},
    {"PodOS", "name! OSName"},
    {"PodSchedulingGate", "name! string"},
    {"PodResourceClaim",
     "name! string; resourceClaimName *string; resourceClaimTemplateName *string"},
    {"TopologySpreadConstraint",
     "maxSkew! int32; topologyKey! string; whenUnsatisfiable! UnsatisfiableConstraintAction;"
     "labelSelector *LabelSelector; minDomains *int32; nodeAffinityPolicy *NodeInclusionPolicy;"
     "nodeTaintsPolicy *NodeInclusionPolicy; matchLabelKeys []string"},
    {"Affinity",
     "nodeAffinity *NodeAffinity; podAffinity *PodAffinity; podAntiAffinity *PodAntiAffinity"},
    {"NodeAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution *NodeSelector;"
     "preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm"},
    {"NodeSelector", "nodeSelectorTerms! []NodeSelectorTerm"},
    {"NodeSelectorTerm",
     "matchExpressions []NodeSelectorRequirement; matchFields []NodeSelectorRequirement"},
    {"NodeSelectorRequirement", "key! string; operator! NodeSelectorOperator; values []string"},
    {"PreferredSchedulingTerm", "weight! int32; preference! NodeSelectorTerm"},
    {"PodAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm;"
     "preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm"},
    {"PodAntiAffinity", "...PodAffinity"},
    {"PodAffinityTerm",
     "labelSelector *LabelSelector; namespaces []string; topologyKey! string;"
     "namespaceSelector *LabelSelector; matchLabelKeys []string; mismatchLabelKeys []string"},
    {"WeightedPodAffinityTerm", "weight! int32; podAffinityTerm! PodAffinityTerm"},

    // Volumes. Of those of clouds and old clusters only the names are known.
    {"Volume",
     "name! string; hostPath *HostPathVolumeSource; emptyDir *EmptyDirVolumeSource;"
     "gcePersistentDisk *any; awsElasticBlockStore *any; gitRepo *any;"
     "secret *SecretVolumeSource; nfs *NFSVolumeSource; iscsi *any; glusterfs *any;"
     "persistentVolumeClaim *PersistentVolumeClaimVolumeSource; rbd *any; flexVolume *any;"
     "cinder *any; cephfs *any; flocker *any; downwardAPI *DownwardAPIVolumeSource; fc *any;"
     "azureFile *any; configMap *ConfigMapVolumeSource; vsphereVolume *any; quobyte *any;"
     "azureDisk *any; photonPersistentDisk *any; projected *ProjectedVolumeSource;"
     "portworxVolume *any; scaleIO *any; storageos *any; csi *CSIVolumeSource;"
     "ephemeral *any; image *ImageVolumeSource"},
    {"HostPathVolumeSource", "path! string; type *HostPathType"},
    {"EmptyDirVolumeSource", "medium StorageMedium; sizeLimit *Quantity"},
    {"SecretVolumeSource",
     "secretName string; items []KeyToPath; defaultMode *int32; optional *bool"},
    {"KeyToPath", "key! string; path! string; mode *int32"},
    {"NFSVolumeSource", "server! string; path! string; readOnly bool"},
    {"PersistentVolumeClaimVolumeSource", "claimName! string; readOnly bool"},
    {"DownwardAPIVolumeSource", "items []DownwardAPIVolumeFile; defaultMode *int32"},
    {"DownwardAPIVolumeFile",
     "path! string; fieldRef *ObjectFieldSelector; resourceFieldRef *ResourceFieldSelector;"
     "mode *int32"},
    {"ConfigMapVolumeSource", "name string; items []KeyToPath; defaultMode *int32; optional *bool"},
    {"ProjectedVolumeSource", "sources! []VolumeProjection; defaultMode *int32"},
    {"VolumeProjection",
     "secret *SecretProjection; downwardAPI *DownwardAPIProjection;"
     "configMap *ConfigMapProjection; serviceAccountToken *ServiceAccountTokenProjection;"
     "clusterTrustBundle *any; podCertificate *any"},
    {"SecretProjection", "name string; items []KeyToPath; optional *bool"},
    {"DownwardAPIProjection", "items []DownwardAPIVolumeFile"},
    {"ConfigMapProjection", "name string; items []KeyToPath; optional *bool"},
    {"ServiceAccountTokenProjection", "audience string; expirationSeconds *int64; path! string"},
    {"CSIVolumeSource",
     "driver! string; readOnly *bool; fsType *string; volumeAttributes map[string]string;"
     "nodePublishSecretRef *LocalObjectReference"},
    {"ImageVolumeSource", "reference string; pullPolicy PullPolicy"},

    // How pods are.
    {"PodStatus",
     "observedGeneration int64; phase PodPhase; conditions []PodCondition; message string;"
     "reason string; nominatedNodeName string; hostIP string; hostIPs []HostIP; podIP string;"
     "podIPs []PodIP; startTime *Time; initContainerStatuses []ContainerStatus;"
     "containerStatuses []ContainerStatus; qosClass PodQOSClass;"
     "ephemeralContainerStatuses []ContainerStatus; resize PodResizeStatus;"
     "resourceClaimStatuses []PodResourceClaimStatus; extendedResourceClaimStatus *any;"
     "allocatedResources ResourceList; resources *ResourceRequirements"},
    {"PodCondition",
     "type! PodConditionType; observedGeneration int64; status! ConditionStatus;"
     "lastProbeTime! Time; lastTransitionTime! Time; reason string; message string"},
    {"HostIP", "ip! string"},
    {"PodIP", "ip! string"},
    {"PodResourceClaimStatus", "name! string; resourceClaimName *string"},
    {"ContainerStatus",
     "name! string; state ContainerState; lastState ContainerState; ready! bool;"
     "restartCount! int32; image! string; imageID! string; containerID string; started *bool;"
     "allocatedResources ResourceList; resources *ResourceRequirements;"
     "volumeMounts []VolumeMountStatus; user *any; allocatedResourcesStatus []any;"
     "stopSignal *Signal"},
    {"ContainerState",
     "waiting *ContainerStateWaiting; running *ContainerStateRunning;"
     "terminated *ContainerStateTerminated"},
    {"ContainerStateWaiting", "reason string; message string"},
    {"ContainerStateRunning", "startedAt! Time"},
    {"ContainerStateTerminated",
     "exitCode! int32; signal int32; reason string; message string; startedAt! Time;"
     "finishedAt! Time; containerID string"},
    {"VolumeMountStatus",
     "name! string; mountPath! string; readOnly bool; recursiveReadOnly *RecursiveReadOnlyMode"},

    // Nodes.
    {"Node",
     "kind string; apiVersion string; metadata! ObjectMeta; spec! NodeSpec; status! NodeStatus"},
    {"NodeSpec",
     "podCIDR string; podCIDRs []string; providerID string; unschedulable bool; taints []Taint;"
     "configSource *any; externalID string"},
    {"Taint", "key! string; value string; effect! TaintEffect; timeAdded *Time"},
    {"NodeStatus",
     "capacity ResourceList; allocatable ResourceList; phase NodePhase;"
     "conditions []NodeCondition; addresses []NodeAddress; daemonEndpoints NodeDaemonEndpoints;"
     "nodeInfo NodeSystemInfo; images []ContainerImage; volumesInUse []UniqueVolumeName;"
     "volumesAttached []AttachedVolume; config *any; runtimeHandlers []NodeRuntimeHandler;"
     "features *NodeFeatures; declaredFeatures []string"},
    {"NodeCondition",
     "type! NodeConditionType; status! ConditionStatus; lastHeartbeatTime! Time;"
     "lastTransitionTime! Time; reason string; message string"},
    {"NodeAddress", "type! NodeAddressType; address! string"},
    {"NodeDaemonEndpoints", "kubeletEndpoint DaemonEndpoint"},
    {"DaemonEndpoint", "Port! int32"},
    {"NodeSystemInfo",
     "machineID! string; systemUUID! string; bootID! string; kernelVersion! string;"
     "osImage! string; containerRuntimeVersion! string; kubeletVersion! string;"
     "kubeProxyVersion! string; operatingSystem! string; architecture! string;"
     "swap *NodeSwapStatus; runningInUserNamespace *bool"},
    {"NodeSwapStatus", "capacity *int64"},
    {"ContainerImage", "names []string; sizeBytes int64"},
    {"AttachedVolume", "name! UniqueVolumeName; devicePath! string"},
    {"NodeRuntimeHandler", "name! string; features *NodeRuntimeHandlerFeatures"},
    {"NodeRuntimeHandlerFeatures", "recursiveReadOnlyMounts *bool; userNamespaces *bool"},
    {"NodeFeatures", "supplementalGroupsPolicy *bool"},
});

// The network and process fields of a spec are those of its security context inside.
constexpr auto kOrders = std::to_array<TypeText>({
    {"PodSpec",
     "volumes initContainers containers ephemeralContainers restartPolicy "
     "terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector "
     "serviceAccountName automountServiceAccountToken nodeName securityContext imagePullSecrets "
     "hostname subdomain setHostnameAsFQDN affinity schedulerName tolerations hostAliases "
     "priorityClassName priority preemptionPolicy dnsConfig readinessGates runtimeClassName "
     "overhead enableServiceLinks topologySpreadConstraints os schedulingGates resourceClaims "
     "resources hostnameOverride"},
    {"PodSecurityContext",
     "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups "
     "supplementalGroupsPolicy fsGroup fsGroupChangePolicy sysctls seccompProfile "
     "appArmorProfile seLinuxChangePolicy"},
});

constexpr auto kGoNames = std::to_array<GoName>({
    {"dnsPolicy", "DNSPolicy"},
    {"dnsConfig", "DNSConfig"},
    {"os", "OS"},
    {"tty", "TTY"},
    {"ip", "IP"},
    {"uid", "UID"},
    {"apiVersion", "APIVersion"},
    {"httpGet", "HTTPGet"},
    {"httpHeaders", "HTTPHeaders"},
    {"tcpSocket", "TCPSocket"},
    {"grpc", "GRPC"},
    {"seLinuxOptions", "SELinuxOptions"},
    {"seLinuxChangePolicy", "SELinuxChangePolicy"},
    {"fsGroup", "FSGroup"},
    {"fsGroupChangePolicy", "FSGroupChangePolicy"},
    {"fsType", "FSType"},
    {"gmsaCredentialSpecName", "GMSACredentialSpecName"},
    {"gmsaCredentialSpec", "GMSACredentialSpec"},
    {"gcePersistentDisk", "GCEPersistentDisk"},
    {"awsElasticBlockStore", "AWSElasticBlockStore"},
    {"nfs", "NFS"},
    {"iscsi", "ISCSI"},
    {"rbd", "RBD"},
    {"cephfs", "CephFS"},
    {"fc", "FC"},
    {"storageos", "StorageOS"},
    {"csi", "CSI"},
});

}  // namespace

std::span<const TypeText> core_type_texts() { return kTypes; }
std::span<const TypeText> internal_orders() { return kOrders; }
std::span<const GoName> internal_names() { return kGoNames; }

}  // namespace corehold
