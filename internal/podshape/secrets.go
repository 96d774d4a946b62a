// SPDX-License-Identifier: Apache-2.0

package podshape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Whoever may declare a SQLServer gets its pod run by the operator's account at the site, which may mount every Secret
// of the namespace there: without this check the declaration would be a way to the passwords of all its servers, to
// their keys and to the right to vote in their elections.

// checkKept refuses what leads to Secrets and volumes that the operator keeps for the servers of the namespace, and to
// an identity of the pod's account. A part is of Kubernetes' own types: what refers to a Secret is found by its name,
// wherever it stands, in whichever kind of volume.
func checkKept(at *field.Path, server string, others []string, part any) field.ErrorList {
	data, err := json.Marshal(part)
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	k := kept{server: server, servers: append([]string{server}, others...)}
	k.look(at, decoded)
	return k.errs
}

type kept struct {
	server  string
	servers []string
	errs    field.ErrorList
}

func (k *kept) look(at *field.Path, value any) {
	switch v := value.(type) {
	case []any:
		for i, one := range v {
			k.look(at.Index(i), one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			k.judge(at.Child(key), key, v[key])
			k.look(at.Child(key), v[key])
		}
	}
}

// judge looks at one field by its name in Kubernetes' types.
func (k *kept) judge(at *field.Path, key string, value any) {
	text, _ := value.(string)
	within, _ := value.(map[string]any)
	switch key {
	case "secretName":
		k.secret(at, text)
	case "secret", "secretRef", "secretKeyRef", "nodePublishSecretRef":
		if name, named := within["name"].(string); named {
			k.secret(at.Child("name"), name)
		}
	case "claimName":
		k.claim(at, text)
	case "serviceAccountToken", "podCertificate":
		if within != nil {
			k.errs = append(k.errs, field.Forbidden(at, "the pod's account is that of the server's agent, which takes orders "+
				"and votes in elections: nobody else gets its token, or a certificate in its name"))
		}
	}
}

func (k *kept) secret(at *field.Path, name string) {
	if strings.HasPrefix(name, reservedPrefix) {
		k.errs = append(k.errs, field.Forbidden(at, fmt.Sprintf("Secrets whose names begin with %s are the operator's",
			reservedPrefix)))
		return
	}
	for _, server := range k.servers {
		if slices.Contains(credentials.SecretsOf(v1alpha1.ServerName(server)), name) {
			k.errs = append(k.errs, field.Forbidden(at, fmt.Sprintf("%s is what the operator keeps of SQLServer %s, its "+
				"passwords or keys, for the engine and its agent alone: declare a Login, whose Secret has a password of its own "+
				"and the CA", name, server)))
			return
		}
	}
}

func (k *kept) claim(at *field.Path, name string) {
	for _, server := range k.servers {
		switch {
		case !slices.Contains(claims(server), name):
			continue
		case server == k.server:
			k.errs = append(k.errs, field.Forbidden(at, fmt.Sprintf(
				"%s is one of the server's own volumes, which the pod has already", name)))
		default:
			k.errs = append(k.errs, field.Forbidden(at, fmt.Sprintf("%s is a volume of SQLServer %s, and its alone", name,
				server)))
		}
		return
	}
}
