# SPDX-License-Identifier: Apache-2.0
# Chaos Mesh's controller manager (hack/bed/chaos builds it). BASE is a Debian. Build context: a folder
# with the binary.
ARG BASE
FROM ${BASE}
COPY chaos-controller-manager /usr/local/bin/chaos-controller-manager
