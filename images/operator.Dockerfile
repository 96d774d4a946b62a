# SPDX-License-Identifier: Apache-2.0
# Manager, site and agent of geosql-operator: one static binary. Build context: a folder with the binary `geosql`
# (hack/bed/images makes it). Any user may run it; agents run as 10001 beside the engine.
FROM scratch
COPY geosql /geosql
USER 65532:65532
ENTRYPOINT ["/geosql"]
