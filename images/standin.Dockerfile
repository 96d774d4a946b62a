# SPDX-License-Identifier: Apache-2.0
# The stand-in engine in the shape of SQL Server's image: the same path, user and folders, so that one pod spec
# serves both. Build context: a folder with the binary `standin`, the empty folder
# `mssql`, and `root` with an empty `tmp` (mode 1777).
FROM scratch
COPY standin /opt/mssql/bin/sqlservr
COPY --chown=10001:0 mssql /var/opt/mssql
COPY root /
USER 10001:0
WORKDIR /var/opt/mssql
EXPOSE 1433
ENTRYPOINT ["/opt/mssql/bin/sqlservr"]
