#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the machines of this folder that are authored rather than captured.

Each is lstopo's XML of a synthetic description, edited the way the real machine of
that kind looks. Run in this folder; needs lstopo 2.9. The output is committed.
"""
import subprocess
import xml.etree.ElementTree as ET

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
SETS = ("cpuset", "complete_cpuset", "allowed_cpuset")


def synthetic(text):
    xml = subprocess.run(["lstopo-no-graphics", "-i", text, "--of", "xml"], check=True,
                         capture_output=True, text=True).stdout
    root = ET.fromstring(xml)
    for parent in root.iter():
        for info in [c for c in parent if c.tag in ("info", "support", "page_type")]:
            parent.remove(info)
    return root


def mask(text):
    """hwloc's bitmap text ("0x1,0xffffffff", 32 bits an item) as an int."""
    value = 0
    for part in text.split(","):
        value = (value << 32) | (int(part, 16) if part else 0)
    return value


def bitmap(value):
    parts = []
    while True:
        parts.append("0x%08x" % (value & 0xFFFFFFFF))
        value >>= 32
        if not value:
            return ",".join(reversed(parts))


def objects(root, kind):
    return [o for o in root.iter("object") if o.get("type") == kind]


def offline(root, cpus):
    """The kernel shows an offline CPU in no set but the complete ones."""
    gone = sum(1 << c for c in cpus)

    def prune(parent):
        for child in list(parent.findall("object")):
            prune(child)
            empty = mask(child.get("cpuset", "0x1")) & ~gone == 0
            if empty and child.get("type") != "NUMANode":
                parent.remove(child)
        for key in ("cpuset", "allowed_cpuset"):
            if parent.get(key):
                parent.set(key, bitmap(mask(parent.get(key)) & ~gone))

    prune(root)
    return root


def drop_level(root, kind):
    for parent in list(root.iter("object")):
        for child in [c for c in parent.findall("object") if c.get("type") == kind]:
            at = list(parent).index(child)
            parent.remove(child)
            for i, grandchild in enumerate(child.findall("object")):
                parent.insert(at + i, grandchild)
    return root


def add_node(root, parent, number, cpuset, subtype=None):
    attributes = {"type": "NUMANode", "os_index": str(number), "cpuset": bitmap(cpuset),
                  "complete_cpuset": bitmap(cpuset), "nodeset": bitmap(1 << number),
                  "complete_nodeset": bitmap(1 << number), "gp_index": str(9000 + number),
                  "local_memory": "17179869184"}
    if subtype:
        attributes["subtype"] = subtype
    at = 1 + max([i for i, c in enumerate(parent) if c.get("type") == "NUMANode"], default=-1)
    parent.insert(at, ET.Element("object", attributes))
    def add(element):
        for key in ("nodeset", "complete_nodeset", "allowed_nodeset"):
            if element.get(key):
                element.set(key, bitmap(mask(element.get(key)) | 1 << number))
    for element in root.iter("object"):
        if element.get("type") == "NUMANode":
            continue
        if element is parent or parent in element.iter() or element in parent.iter():
            add(element)
    return root


def distances(root, nodes, value):
    count = len(nodes)
    element = ET.SubElement(root, "distances2", {"type": "NUMANode", "nbobjs": str(count),
                                                 "kind": "5", "name": "NUMALatency",
                                                 "indexing": "os"})
    text = " ".join(map(str, nodes)) + " "
    ET.SubElement(element, "indexes", {"length": str(len(text))}).text = text
    for i in nodes:
        text = " ".join(str(value(i, j)) for j in nodes) + " "
        ET.SubElement(element, "u64values", {"length": str(len(text))}).text = text
    return root


def save(name, root):
    ET.indent(root)
    with open(name + ".xml", "w") as out:
        out.write(HEAD + ET.tostring(root, encoding="unicode") + "\n")


def far(cores):
    """indexes= of CPUs whose second threads come after all first ones, as Linux numbers."""
    return ",".join("%d,%d" % (c, c + cores) for c in range(cores))


def main():
    save("one-cpu", synthetic("pack:1 [numa] l3:1 core:1 pu:1"))
    save("no-l3", synthetic("pack:2 [numa] core:2 pu:2"))
    # The low-power cores of a Core Ultra lie outside the L3 cache of the others.
    some = synthetic("pack:1 [numa] l3:2 core:2 pu:2")
    second = objects(some, "L3Cache")[1]
    package = objects(some, "Package")[0]
    at = list(package).index(second)
    package.remove(second)
    for i, core in enumerate(second.findall("object")):
        package.insert(at + i, core)
    save("l3-on-some", some)
    save("sockets-in-numa", synthetic("[numa] pack:2 l3:1 core:2 pu:2"))
    # 6 P-cores with two threads, 8 E-cores with one: 0-11 and 12-19, as on a Core i7-12700.
    hybrid = offline(synthetic("pack:1 [numa] l3:1 core:14 pu:2"), range(13, 28, 2))
    text = ET.tostring(hybrid, encoding="unicode")
    renumber = {c: (c if c < 12 else 12 + (c - 12) // 2) for c in [*range(12), *range(12, 28, 2)]}
    hybrid = ET.fromstring(text)
    for element in hybrid.iter("object"):
        for key in SETS:
            if element.get(key):
                old = mask(element.get(key))
                element.set(key, bitmap(sum(1 << n for c, n in renumber.items() if old >> c & 1)))
        if element.get("type") == "PU":
            element.set("os_index", str(renumber[int(element.get("os_index"))]))
    save("hybrid", hybrid)
    save("offline-siblings", offline(synthetic("pack:2 [numa] l3:1 core:4 pu:2(indexes=%s)" % far(8)),
                                     [9, 10, 3, 11]))
    memory = synthetic("pack:2 [numa] l3:1 core:2 pu:2")
    machine = objects(memory, "Machine")[0]
    add_node(memory, machine, 2, 0)
    save("memory-only-node", distances(memory, [0, 1, 2],
                                       lambda i, j: 10 if i == j else 21 if i + j == 1 else 17))
    # Xeon Max in flat mode: HBM beside the DRAM of each socket, local to the same CPUs.
    hbm = synthetic("pack:2 [numa] l3:1 core:4 pu:2")
    for number, package in enumerate(objects(hbm, "Package")):
        add_node(hbm, package, 2 + number, mask(package.get("cpuset")), "HBM")
    save("hbm", distances(hbm, [0, 1, 2, 3], lambda i, j: (
        10 if i == j else 13 if (i - j) % 2 == 0 else 21 if max(i, j) < 2 else 23)))
    # Sub-NUMA clustering: the L3 spans both nodes of a socket.
    save("snc2", distances(synthetic("pack:2 l3:1 numa:2 core:4 pu:2(indexes=%s)" % far(16)), [0, 1, 2, 3],
                           lambda i, j: 10 if i == j else 12 if i // 2 == j // 2 else 21))
    epyc = synthetic("pack:2 numa:4 l3:2 core:8 pu:2(indexes=%s)" % far(128))
    for number, cache in enumerate(objects(epyc, "L3Cache")):
        cache.set("os_index", str(number))
    save("epyc-2s-nps4", distances(epyc, list(range(8)),
                                   lambda i, j: 10 if i == j else 12 if i // 4 == j // 4 else 32))
    # No machine is like this: CPU 2 is local to both nodes.
    overlap = synthetic("pack:2 [numa] l3:1 core:2 pu:1")
    second = objects(overlap, "NUMANode")[0]
    second.set("cpuset", "0x00000007")
    second.set("complete_cpuset", "0x00000007")
    save("bad-cpu-in-two-nodes", overlap)


main()
