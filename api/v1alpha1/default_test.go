// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/test/support/checkout"
)

// computed are the fields whose value, where none is given, follows from something else than the release: such a value
// cannot stand in a schema.
var computed = map[string]string{
	"AgentProfile.spec":                            "the agent's own defaults",
	"AgentProfile.spec.pollingInterval":            "the agent's own default",
	"AvailabilityGroup.spec.listener.ip":           "the Service's address",
	"AvailabilityGroup.spec.listener.name":         "the group's name",
	"AvailabilityGroup.spec.objectives":            "speaks of those of drills",
	"AvailabilityGroup.spec.timings.*":             "status.timings keeps what the group was made with",
	"Backup.spec.databases":                        "all",
	"BackupPolicy.spec.bufferCount":                "the engine's choice",
	"BackupPolicy.spec.databases":                  "all",
	"BackupPolicy.spec.differential":               "none are taken",
	"BackupPolicy.spec.keys.sealSecretRef":         "speaks of the key",
	"BackupPolicy.spec.keys.sealSecretRef.key":     "depends on the use",
	"BackupPolicy.spec.maxTransferSize":            "the engine's choice",
	"BackupPolicy.spec.restoreTest.databases":      "all of the policy",
	"BackupStore.spec.encryption.keySecretRef":     "age.key",
	"BackupStore.spec.encryption.keySecretRef.key": "depends on the use",
	"BackupStore.spec.s3.caSecretRef":              "those that the image trusts",
	"BackupStore.spec.s3.caSecretRef.key":          "depends on the use",
	"BackupStore.spec.s3.prefix":                   "none",
	"BackupStore.spec.uploadRate":                  "no bound",
	"Distributor.spec.publishers":                  "all",
	"Distributor.spec.snapshotFolder":              "the server's backup volume",
	"Drill.spec.faults[].at":                       "at once",
	"Drill.spec.faults[].direction":                "refused with other kinds",
	"Drill.spec.faults[].peer":                     "everything else",
	"Drill.spec.faults[].times":                    "every goes with times that are given",
	"Drill.spec.faults[].to":                       "the group's state",
	"Drill.spec.workload.database":                 "the target's",
	"Drill.spec.workload.rowsPerSecond":            "thinkTime excludes it",
	"Drill.spec.workload.sites":                    "the target's",
	"Drill.spec.workload.thinkTime":                "the profile",
	"Drill.spec.workload.users":                    "stages exclude it",
	"DrillSchedule.spec.otherHistoryLimit":         "repeat excludes it",
	"DrillSchedule.spec.passedHistoryLimit":        "repeat excludes it",
	"DrillSchedule.spec.repeat.faultsAtMost":       "the template's",
	"DrillSchedule.spec.template.spec.*":           "as of a Drill",
	"DrillSchedule.spec.timeZone":                  "repeat excludes it",
	"Failover.spec.databases":                      "all that are stale",
	"Login.spec.connectionSecret":                  "the object's name",
	"Login.spec.name":                              "the object's name",
	"Login.spec.passwordSecretRef":                 "speaks of the key",
	"Login.spec.passwordSecretRef.key":             "depends on the use",
	"Login.spec.users[].grants[].object":           "the schema",
	"Login.spec.users[].name":                      "the login's",
	"Publication.spec.articles[].columns":          "all",
	"Publication.spec.initialization":              "is about to become an object",
	"PublisherMove.spec.distributor":               "the publication's",
	"Restore.spec.keys":                            "the policy's",
	"Restore.spec.keys.sealSecretRef":              "speaks of the key",
	"Restore.spec.keys.sealSecretRef.key":          "depends on the use",
	"Restore.spec.target.database":                 "the name that it had",
	"Site.spec.apiServer":                          "the kubeconfig's",
	"Site.spec.kubeconfigSecretRef.key":            "depends on the use",
	"Site.spec.storageClasses.agent":               "that of the data volume",
	"Site.spec.transfers.stagingHighWatermark":     "refused without a quota",
	"Site.spec.transfers.stagingLowWatermark":      "refused without a quota",
	"AvailabilityGroup.spec.databases[].collation": "the server's",
	"AvailabilityGroup.spec.databases[].owner":     "the operator's login, which the database is made by",
	"Subscription.spec.agentAt":                    "the type",
	"Subscription.spec.initialization":             "the Publication's",
	"Subscription.spec.reinitialization":           "the Publication's",

	"AvailabilityGroup.spec.databases[].from.restore.keys.sealSecretRef":     "speaks of the key",
	"AvailabilityGroup.spec.databases[].from.restore.keys.sealSecretRef.key": "depends on the use",
}

// excused tells of a field that needs no default.
func excused(at string) bool {
	for path := range computed {
		prefix, any := strings.CutSuffix(path, "*")
		if path == at || any && strings.HasPrefix(at, prefix) {
			return true
		}
	}
	return false
}

// says is how a description speaks of a default.
var says = regexp.MustCompile(`unless given|\(default\)|the\s+default|\(default`)

// What a field is when it is left out stands in its schema, and nowhere else: a later release cannot change an object
// that is there by another default. A server's fields have none: a Topology lays serverDefaults under them.
func TestDefaultsAreInTheSchemas(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(checkout.Root(), "config/crd/bases/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	defaults := 0
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(data, &crd)).To(Succeed())
		kind := crd.Spec.Names.Kind
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		switch kind {
		case "SQLServer":
			undecided(t, kind+".spec", spec)
		case "Topology":
			undecided(t, kind+".spec.serverDefaults", spec.Properties["serverDefaults"])
			undecided(t, kind+".spec.servers[]", *spec.Properties["servers"].Items.Schema)
		default:
			defaults += decided(t, kind+".spec", spec)
		}
	}
	g.Expect(defaults).To(BeNumerically(">", 30))
}

// decided looks for the default of each field whose description has one, and counts them.
func decided(t *testing.T, at string, s apiextensionsv1.JSONSchemaProps) (defaults int) {
	description := strings.Join(strings.Fields(s.Description), " ")
	if s.Default != nil {
		defaults++
		var value any
		if err := json.Unmarshal(s.Default.Raw, &value); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if _, object := value.(map[string]any); !object && value != "" && !strings.Contains(description, fmt.Sprint(value)) {
			t.Errorf("%s has the default %v, and its description does not say so: %s", at, value, description)
		}
	} else if says.MatchString(description) && !excused(at) {
		t.Errorf("%s says what it is unless given, and its schema has no default: %s", at, description)
	}
	for name, property := range s.Properties {
		defaults += decided(t, at+"."+name, property)
	}
	if s.Items != nil {
		defaults += decided(t, at+"[]", *s.Items.Schema)
	}
	return defaults
}

// undecided looks for defaults where a Topology decides. Kubernetes' own types bring the empty name of a Secret, and
// what is left out of a reference to a file's key, which is taken as a whole.
func undecided(t *testing.T, at string, s apiextensionsv1.JSONSchemaProps) {
	if s.Default != nil && string(s.Default.Raw) != `""` && !strings.HasSuffix(at, ".valueFrom.fileKeyRef.optional") {
		t.Errorf("%s has the default %s, which would stand in the way of serverDefaults", at, s.Default.Raw)
	}
	for name, property := range s.Properties {
		undecided(t, at+"."+name, property)
	}
	if s.Items != nil {
		undecided(t, at+"[]", *s.Items.Schema)
	}
}
