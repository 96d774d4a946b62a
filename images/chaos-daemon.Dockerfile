# SPDX-License-Identifier: Apache-2.0
# Chaos Mesh's daemon for kernels with and without sch_netem (hack/bed/chaos builds it). BASE is a Debian with
# iptables, ipset, iproute2, procps and util-linux. `tc` is the emulator hack/bed/netem; it hands what it does not know
# to Debian's tc. nsexec, stress-ng and memStress are hack/bed/chaos-helpers. toda (IOChaos), tproxy (HTTPChaos) and
# byteman (JVMChaos) are not in the image, and the manager has no controller for those kinds.
ARG BASE
FROM ${BASE}
# What the daemon makes in pods outlives it, whether the kernel emulates links or a process does (hack/bed/netem/tc).
ENV NETEM_CGROUPS_OF=1
COPY chaos-daemon pause netem chaos-helpers /usr/local/bin/
COPY chaos-daemon-helper /usr/local/bin/cdh
# The daemon and its rules in a pod are of one kind of iptables, legacy as in the published image.
RUN cd /usr/local/bin && ln -s netem tc && for name in nsexec stress-ng memStress; do ln -s chaos-helpers $name; done && \
    update-alternatives --set iptables /usr/sbin/iptables-legacy
