// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

const server = `
apiVersion: geosql.dev/v1alpha1
kind: SQLServer
metadata: {name: NAME, namespace: web}
spec:
  site: tukwila
  acceptEULA: true
  edition: Developer
  image: engine
  storage: {data: {size: 2Gi}, log: {size: 1Gi}, tempdb: {size: 1Gi}, backup: {size: 1Gi}}
`

const deadOwner = `ownerReferences: [{apiVersion: geosql.dev/v1alpha1, kind: Topology, name: t, uid: "1"}]`

const group = `
apiVersion: geosql.dev/v1alpha1
kind: AvailabilityGroup
metadata: {name: NAME, namespace: web}
spec:
  replicas:
  - {server: a, availabilityMode: SynchronousCommit}
  - {server: b, availabilityMode: SynchronousCommit}
  - {server: c, availabilityMode: ConfigurationOnly}
  initialPrimary: a
  databases: [{name: Content}]
`

// made is a group that exists, with three voters.
var made = with(group, "NAME", "g") +
	"status: {groupID: \"1\", voters: [{site: tukwila, state: Held}, {site: quincy, state: Held}, " +
	"{site: dublin, state: Held}]}\n"

const lostSite = `
apiVersion: geosql.dev/v1alpha1
kind: Site
metadata: {name: blueridge}
spec: {lifecycle: Lost, kubeconfigSecretRef: {name: blueridge}, allowedNamespaces: [web]}
`

const login = `
apiVersion: geosql.dev/v1alpha1
kind: Login
metadata: {name: NAME, namespace: web}
spec: {target: {server: a}, passwordSecretRef: {name: p}}
`

const backupStore = `
apiVersion: geosql.dev/v1alpha1
kind: BackupStore
metadata: {name: NAME, namespace: web}
spec:
  s3: {endpoint: "https://s3.example", bucket: sql, prefix: production, credentialsSecretRef: {name: keys}}
`

const oneBackup = `
apiVersion: geosql.dev/v1alpha1
kind: Backup
metadata: {name: NAME, namespace: web}
spec: {policy: content, copyOnly: true}
`

const backupPolicy = `
apiVersion: geosql.dev/v1alpha1
kind: BackupPolicy
metadata: {name: NAME, namespace: web}
spec:
  target: {availabilityGroup: content}
  full: {schedule: "0 1 * * 0"}
  stores: [s3]
  retention: {fulls: 3}
`

const distributor = `
apiVersion: geosql.dev/v1alpha1
kind: Distributor
metadata: {name: NAME, namespace: web}
spec: {server: SERVER}
`

const publication = `
apiVersion: geosql.dev/v1alpha1
kind: Publication
metadata: {name: NAME, namespace: web}
spec:
  publisher: {availabilityGroup: content}
  database: Content
  distributor: main
  articles:
  - {table: dbo.Article}
`

const subscription = `
apiVersion: geosql.dev/v1alpha1
kind: Subscription
metadata: {name: NAME, namespace: web}
spec:
  publication: articles
  subscriber: {server: sub}
  database: Content
`

const profile = `
apiVersion: geosql.dev/v1alpha1
kind: AgentProfile
metadata: {name: NAME, namespace: web}
spec: {agent: AGENT}
`

const site = `
apiVersion: geosql.dev/v1alpha1
kind: Site
metadata: {name: NAME}
spec:
  kubeconfigSecretRef: {name: NAME}
  allowedNamespaces: [web]
`

const topology = `
apiVersion: geosql.dev/v1alpha1
kind: Topology
metadata: {name: NAME, namespace: web}
spec:
  serverDefaults:
    acceptEULA: true
    edition: Developer
    image: engine
    storage: {data: {size: 2Gi}, log: {size: 1Gi}, tempdb: {size: 1Gi}, backup: {size: 1Gi}}
  servers:
  - {name: p, site: tukwila}
  - {name: d, site: tukwila}
  distributors:
  - {name: dist, server: d}
  publications:
  - {name: pub, publisher: {server: p}, database: Content, distributor: dist, articles: [{table: dbo.Article}]}
`

const failover = `
apiVersion: geosql.dev/v1alpha1
kind: Failover
metadata: {name: NAME, namespace: web}
spec: {group: content, kind: Switchover, to: b}
`

func with(manifest string, pairs ...string) string { return replace(manifest, pairs...) }
