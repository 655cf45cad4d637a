# SPDX-License-Identifier: Apache-2.0
#
# What is installed, and the Debian package: `cpack -G DEB` in a build folder, after `corehold`
# and `package_docs` are built.
include(GNUInstallDirs)

# Making a package installs what is built, and builds nothing itself.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(units ${PROJECT_SOURCE_DIR}/packaging)
set(made ${PROJECT_BINARY_DIR}/packaging)

string(TIMESTAMP COREHOLD_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${units}/debian/changelog.in ${made}/changelog.Debian @ONLY)

# The manual page and the completion are made from the commands themselves; the changelog is the
# project's.
add_custom_command(
  OUTPUT ${made}/stamp
  COMMAND ${CMAKE_COMMAND} -D COREHOLD=$<TARGET_FILE:corehold> -D OUT=${made}
    -D CHANGELOG=${PROJECT_SOURCE_DIR}/CHANGELOG.md -D DEBIAN_CHANGELOG=${made}/changelog.Debian
    -P ${PROJECT_SOURCE_DIR}/cmake/package_docs.cmake
  DEPENDS corehold ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${units}/debian/changelog.in
    ${PROJECT_SOURCE_DIR}/cmake/package_docs.cmake
  VERBATIM)
add_custom_target(package_docs ALL DEPENDS ${made}/stamp)

install(TARGETS corehold RUNTIME)
install(FILES ${made}/corehold.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made}/completion.bash RENAME corehold
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES
    ${units}/corehold.service ${units}/corehold-launcher.service ${units}/corehold-launcher.socket
    ${units}/corehold-pods.service
  DESTINATION /lib/systemd/system)
install(FILES ${units}/node.yaml DESTINATION /etc/corehold)
install(DIRECTORY DESTINATION /etc/corehold/pods)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/NOTICE ${units}/debian/copyright
    ${made}/changelog.gz ${made}/changelog.Debian.gz
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${units}/isolation-full.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/corehold)
foreach(extra grafana prometheus)
  install(DIRECTORY ${units}/${extra} DESTINATION ${CMAKE_INSTALL_DATADIR}/corehold OPTIONAL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME corehold)
set(CPACK_PACKAGE_VENDOR Corehold)
set(CPACK_PACKAGE_CONTACT "The Corehold developers <packages@corehold.dev>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "node agent that gives containers exclusive CPUs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Corehold gives commands and containers CPUs of their own and keeps everybody
else off them. It makes a machine a node by itself, with Kubernetes pods and
kubectl but without a cluster, and answers as the kubelet's CPU manager does.
.
The package runs the node as a service of systemd. Containers go on running
when it is restarted, upgraded or removed.")
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON)  # /etc and /lib are not below /usr
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd (>= 250)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${units}/debian/postinst ${units}/debian/prerm ${units}/debian/postrm
  ${units}/debian/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
