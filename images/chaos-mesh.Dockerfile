# SPDX-License-Identifier: Apache-2.0
# Chaos Mesh's controller manager (hack/bed/chaos builds it). Build context: a folder with the binary.
FROM scratch
COPY chaos-controller-manager /usr/local/bin/chaos-controller-manager
