// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// A value of a Secret is found in whichever form a program writes it, and nothing of it is left.
func TestKnownSecretsAreTakenOut(t *testing.T) {
	for _, secret := range []string{"hunter22", "-_Zw.8kGm2xQpLrT4vBnY7cD-_.aE9fH", `it's "a" {s3cret};100% & <more>`,
		"pässwörd-Ünïcode"} {
		r := newRedactor()
		r.learn("Secret web/webapp, key password", []byte(secret+"\n"))
		quoted, err := json.Marshal(secret)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		forms := map[string]string{
			"as it is": secret,
			"T-SQL":    "ALTER LOGIN x WITH PASSWORD = N'" + strings.ReplaceAll(secret, "'", "''") + "'",
			"ADO.NET": `Server=tcp:content,1433;User ID=u;Password="` + strings.ReplaceAll(secret, `"`, `""`) +
				`";Encrypt=True`,
			"JDBC": "jdbc:sqlserver://content:1433;password={" + strings.ReplaceAll(secret, "}", "}}") +
				"};encrypt=true",
			"URL": (&url.URL{Scheme: "sqlserver", Host: "content", User: url.UserPassword("u", secret)}).
				String(),
			"a query":             "https://x.example/?p=" + url.QueryEscape(secret),
			"JSON":                string(quoted),
			"hexadecimal":         hex.EncodeToString([]byte(secret)),
			"base64":              base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64 with its end": base64.StdEncoding.EncodeToString([]byte(secret + "\n")),
		}
		for n := range 3 {
			around := strings.Repeat("u", n) + ":" + secret + ", and more"
			forms[fmt.Sprintf("base64 of more, %d", n)] = base64.StdEncoding.EncodeToString([]byte(around))
			forms[fmt.Sprintf("base64 of URLs of more, %d", n)] = base64.RawURLEncoding.EncodeToString([]byte(around))
		}
		for name, text := range forms {
			g := NewWithT(t)
			cleaned := r.clean("before " + text + " after")
			g.Expect(cleaned).To(ContainSubstring("[redacted"), name)
			g.Expect(cleaned).NotTo(ContainSubstring(text), name)
			g.Expect(cleaned).To(And(HavePrefix("before "), HaveSuffix(" after")), name)
			for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(` '"{};&<>`, r) }) {
				if len(part) > 4 {
					g.Expect(cleaned).NotTo(ContainSubstring(part), name)
				}
			}
		}
	}
}

// Of a value that has many secrets each is found by itself.
func TestSecretsWithinAValueAreTakenOut(t *testing.T) {
	g := NewWithT(t)
	r := newRedactor()
	const token, key = "geosql-t0ken-Of-A-Peer_that.is-long", "TUlJRXZ3SUJBREFOQmdrcWhraUc5dzBCQVFFRkFBU0NCS2t3"
	r.learn("Secret web/tukpub-agent, key orders.json", []byte(`{"voters":[{"site":"tukwila","token":"`+token+`"}]}`))
	r.learn("Secret geosql-system/tukwila, key kubeconfig", []byte("users:\n- user:\n    client-key-data: "+key+"\n"))
	cleaned := r.clean("asked tukwila with " + token + " and " + key + " of client-key-data")
	g.Expect(cleaned).To(Equal("asked tukwila with [redacted: Secret web/tukpub-agent, key orders.json] and " +
		"[redacted: Secret geosql-system/tukwila, key kubeconfig] of client-key-data"))
}

// Of a value that is a connection string, a kubeconfig or the like the password is found by itself, however short.
func TestAssignmentsWithinAValueAreTakenOut(t *testing.T) {
	for value, secret := range map[string]string{
		"Server=tcp:content,1433;User ID=u;Password=Ab1!xyzw;Encrypt=True": "Ab1!xyzw",
		`Server=content;Password="Ab1!;xyz";Encrypt=True`:                  "Ab1!;xyz",
		"jdbc:sqlserver://content;password={Ab1!;xyz};encrypt=true":        "Ab1!;xyz",
		`{"auths":{"r.example":{"username":"u","password":"Ab1!xyzw"}}}`:   "Ab1!xyzw",
		"users:\n- user:\n    username: u\n    password: Ab1!xyzw\n":       "Ab1!xyzw",
		"sqlserver://u:Ab1%21xyzw@content:1433?database=d&encrypt=true":    "Ab1!xyzw",
	} {
		g := NewWithT(t)
		r := newRedactor()
		r.learn("Secret web/app, key url", []byte(value))
		g.Expect(r.clean("came with "+secret+" to content")).To(
			Equal("came with [redacted: Secret web/app, key url] to content"), value)
	}
}

// What no Secret has that could be read is found by its form.
func TestWhatLooksLikeASecretIsTakenOut(t *testing.T) {
	r := newRedactor()
	for text, want := range map[string]string{
		"sa_password=Abc123! next":                       "sa_password=[redacted] next",
		`{"password": "Abc, 123", "user": "u"}`:          `{"password": [redacted], "user": "u"}`,
		"password: Abc123":                               "password: [redacted]",
		"CREATE LOGIN l WITH PASSWORD = N'it''s', SID":   "CREATE LOGIN l WITH PASSWORD = [redacted], SID",
		"MSSQL_SA_PASSWORD=Abc123":                       "MSSQL_SA_PASSWORD=[redacted]",
		"Server=x;Pwd=Abc123;Encrypt=True":               "Server=x;Pwd=[redacted];Encrypt=True",
		"postgres://u:Abc123@host/db":                    "postgres://[redacted]@host/db",
		"Authorization: Bearer abcdef123456":             "Authorization: [redacted] [redacted]",
		"got eyJhbGciOi.eyJzdWIiOiJ4In0.c2lnbmF0dXJl ok": "got [redacted] ok",
		`password = 'cut off, by the end`:                "password = [redacted]",
		`{"msg":"sent {\"password\": \"Abc123\", \"user\": \"u\"}"}`: `{"msg":"sent {\"password\": [redacted], ` +
			`\"user\": \"u\"}"}`,
		`{"password":"Abc\"123","user":"u"}`:                                      `{"password":[redacted],"user":"u"}`,
		`"{\"password\":\"Abc\\\"123\",\"user\":\"u\"}"`:                          `"{\"password\":[redacted],\"user\":\"u\"}"`,
		`Server=x;Password="Ab""c;12";Encrypt=True`:                               "Server=x;Password=[redacted];Encrypt=True",
		"Driver=x;PWD={Ab;c}}12};Encrypt=yes":                                     "Driver=x;PWD=[redacted];Encrypt=yes",
		"Server=x;Password=Ab,c(1)&2;Encrypt=True":                                "Server=x;Password=[redacted];Encrypt=True",
		"AccountName=x;AccountKey=QWJj/MTIz==;EndpointSuffix=y":                   "AccountName=x;AccountKey=[redacted];EndpointSuffix=y",
		"https://x.example/c?sv=2026&sig=QWJj%2FMTIz&se=1":                        "https://x.example/c?sv=2026&sig=[redacted]&se=1",
		"https://x.example/b?X-Amz-Signature=0a1b2c&x=1":                          "https://x.example/b?X-Amz-Signature=[redacted]&x=1",
		"EXEC sp_changedistributor_password N'it''s'":                             "EXEC sp_changedistributor_password [redacted]",
		"EXEC sp_password 'Abc123', N'Def456', 'l'":                               "EXEC sp_password [redacted]",
		"sqlcmd -S x -U sa -P 'Abc 123' -i f":                                     "sqlcmd -S x -U sa -P [redacted] -i f",
		"tool --password Abc123 --user u":                                         "tool --password [redacted] --user u",
		"client-key-data: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUU=":           "client-key-data: [redacted]",
		"has LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF in it":              "has [redacted] in it",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nx": "[redacted]\nx",
		"AKIAIOSFODNN7EXAMPLE":                                                    "[redacted]",
		"AGE-SECRET-KEY-1QQQQQ":                                                   "[redacted]",
	} {
		NewWithT(t).Expect(r.clean(text)).To(Equal(want), text)
	}
	// What people read is left.
	for _, text := range []string{
		"passwordSecretRef: {name: webapp-password}", "secretName: tukpub-tls", "automountServiceAccountToken: false",
		"login webapp: the server refuses it: its password is another one", "  token: null",
		"Secret web/tukpub-credentials has no key sa-password", "TokenRenewed: True", "https://tukwila.example:6443/api",
		"Msg 18456, Level 14, State 1, Server tukpub-0, Line 1", "by password and token", "key: value",
		"certificate LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "the signature of it",
	} {
		NewWithT(t).Expect(r.clean(text)).To(Equal(text))
	}
}

// Objects lose what nobody knows to be harmless: values of environments, and manifests as kubectl keeps them.
func TestObjectsAreQuiet(t *testing.T) {
	g := NewWithT(t)
	r := newRedactor()
	object := map[string]any{
		"metadata": map[string]any{"managedFields": []any{"x"}, "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "password=Abc123",
			"password": "some words"}},
		"spec": map[string]any{"containers": []any{map[string]any{"env": []any{
			map[string]any{"name": "MSSQL_PID", "value": "Developer"}, map[string]any{"name": "GREETING", "value": "hello"},
			map[string]any{"name": "FROM", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s"}}}},
			"args": []any{"--user", "u", "--db-password", "some words", "--token", "--loud", "-P", "other words"}}}},
	}
	g.Expect(r.object(object)).To(Equal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"note": "password=[redacted]",
			"password": "[redacted]"}},
		"spec": map[string]any{"containers": []any{map[string]any{"env": []any{
			map[string]any{"name": "MSSQL_PID", "value": "Developer"},
			map[string]any{"name": "GREETING", "value": "[redacted]"},
			map[string]any{"name": "FROM", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s"}}}},
			"args": []any{"--user", "u", "--db-password", "[redacted]", "--token", "--loud", "-P", "[redacted]"}}}},
	}))
}

// What other programs keep of a manifest in an annotation has the environments that are quieted beside it.
func TestManifestsInAnnotationsAreQuiet(t *testing.T) {
	r := newRedactor()
	long := strings.Repeat("GREETING is Planted-1. ", 60)
	for name, c := range map[string]struct{ key, text, want string }{
		"kapp": {"kapp.k14s.io/original",
			`{"spec":{"replicas":12345678901234567890,"containers":[{"env":[{"name":"GREETING","value":"Planted-1"},` +
				`{"name":"TZ","value":"UTC"}],"note":"a < b"}]}}`,
			`{"spec":{"containers":[{"env":[{"name":"GREETING","value":"[redacted]"},{"name":"TZ","value":"UTC"}],` +
				`"note":"a < b"}],"replicas":12345678901234567890}}`},
		"a list": {"x/applied", ` [{"env":[{"name":"GREETING","value":"Planted-1"}]}]`,
			`[{"env":[{"name":"GREETING","value":"[redacted]"}]}]`},
		"a manifest within it": {"x/applied",
			`{"metadata":{"annotations":{"y/applied":"{\"env\":[{\"name\":\"GREETING\",\"value\":\"Planted-1\"}]}"}}}`,
			`{"metadata":{"annotations":{"y/applied":"{\"env\":[{\"name\":\"GREETING\",\"value\":\"[redacted]\"}]}"}}}`},
		"one that is cut off": {"x/applied", `{"env":[{"name":"GREETING","value":"Planted-1`, "[redacted]"},
		"two":                 {"x/applied", `{"a":"Planted-1"} {"b":"Planted-1"}`, "[redacted]"},
		"compressed": {"objectset.rio.cattle.io/applied", "H4sIAAAAAAAA/6tWKkktLlGyUlAqSy0qzszPU6oFAH3pBDcXAAAA",
			"[redacted]"},
		"a long text":          {"x/applied", long, "[redacted]"},
		"a long one of ours":   {"geosql.dev/adopt", long, long},
		"a text":               {"note", "all is well", "all is well"},
		"what people answered": {"geosql.dev/adopt", "true", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{c.key: c.text}}}
			NewWithT(t).Expect(r.object(object)).To(Equal(
				map[string]any{"metadata": map[string]any{"annotations": map[string]any{c.key: c.want}}}))
		})
	}
}

// Of a log that was cut off the last line may have the beginning of a secret.
func TestLinesThatWereCutOffAreDropped(t *testing.T) {
	g := NewWithT(t)
	g.Expect(string(whole([]byte("one\ntwo\nPlanted-Sa-Pas")))).To(Equal("one\ntwo\n"))
	g.Expect(whole([]byte("Planted-Sa-Pas"))).To(BeEmpty())
}

// What is no secret, and in every text, is not taken out of it.
func TestWhatASecretSaysOpenly(t *testing.T) {
	g := NewWithT(t)
	token := corev1.Secret{Type: corev1.SecretTypeServiceAccountToken}
	g.Expect(isPublic(token, "namespace")).To(BeTrue())
	g.Expect(isPublic(token, "token")).To(BeFalse())
	g.Expect(isPublic(corev1.Secret{}, "namespace")).To(BeFalse())
	g.Expect(isPublic(corev1.Secret{}, "tls.crt")).To(BeTrue())
	g.Expect(isPublic(corev1.Secret{}, "username")).To(BeFalse())
}
