// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// installCertificateFunctions registers CERT_ID, CERTENCODED, CERTPRIVATEKEY and CERTPROPERTY
// (docs/t-sql/functions/cert-id-transact-sql.md and its neighbours).
func (e *Extension) installCertificateFunctions(r *engine.Registry) {
	function(r, "CERT_ID", 1, 1, sysname, integer, func(s *engine.Session, args []any) (any, error) {
		name, ok := text(args, 0)
		if !ok {
			return nil, nil
		}
		c, err := e.database(context.Background(), s, s.CurrentDatabase())
		if err != nil {
			return nil, err
		}
		if cert := c.certificate(strings.Join(splitName(name), ".")); cert != nil {
			return cert.ID, nil
		}
		return nil, nil
	})
	function(r, "CERTENCODED", 1, 1, integer, maxBinary, func(s *engine.Session, args []any) (any, error) {
		cert, err := e.visibleCertificate(s, args, "VIEW DEFINITION")
		if cert == nil || err != nil {
			return nil, err
		}
		return cert.DER, nil
	})
	r.Function(engine.Function{Name: "CERTPRIVATEKEY", MinArgs: 2, MaxArgs: 3,
		Parameters: []sqltype.Type{integer, sysname}, Type: maxBinary, Eval: e.certPrivateKey})
	r.Function(engine.Function{Name: "CERTPROPERTY", MinArgs: 2, MaxArgs: 2, Parameters: []sqltype.Type{integer, sysname},
		Type: sqltype.Type{Kind: sqltype.SQLVariant}, Eval: e.certProperty})
}

// visibleCertificate is the certificate of an id, nil where there's none or the caller lacks the permission.
func (e *Extension) visibleCertificate(s *engine.Session, args []any, permission string) (*certificate, error) {
	id, ok := args[0].(int64)
	if !ok {
		return nil, nil
	}
	ctx, db := context.Background(), s.CurrentDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	cert := c.certificateByID(int32(id))
	if cert == nil || !e.may(ctx, s, db, securable{class: classCertificate, major: cert.ID}, permission) {
		return nil, nil
	}
	return cert, nil
}

// certPrivateKey is the private key as a PVK, encrypted by the given password; NULL where it can't be given.
func (e *Extension) certPrivateKey(s *engine.Session, args []any) (any, error) {
	cert, err := e.visibleCertificate(s, args, "CONTROL")
	password, ok := text(args, 1)
	if cert == nil || err != nil || !ok {
		return nil, err
	}
	if checkPassword("", password, true) != nil {
		return nil, nil
	}
	c, err := e.database(context.Background(), s, s.CurrentDatabase())
	if err != nil {
		return nil, err
	}
	old, _ := text(args, 2)
	key, err := e.privateKey(s, s.CurrentDatabase(), c, cert, old)
	if err != nil {
		return nil, nil //nolint:nilerr // documented: NULL where the key can't be decrypted
	}
	return formatPVK(key, password), nil
}

func (e *Extension) certProperty(s *engine.Session, args []any) (any, error) {
	cert, err := e.visibleCertificate(s, args, "VIEW DEFINITION")
	property, ok := text(args, 1)
	if cert == nil || err != nil || !ok {
		return nil, err
	}
	parsed, err := cert.x509()
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(property) {
	case "expiry_date":
		return parsed.NotAfter.UTC(), nil
	case "start_date":
		return parsed.NotBefore.UTC(), nil
	case "issuer_name":
		return distinguished(parsed.Issuer), nil
	case "cert_serial_number":
		return serialText(parsed), nil
	case "subject":
		return distinguished(parsed.Subject), nil
	case "sid":
		return certificateSID(cert.Thumbprint), nil
	case "sid_string":
		return sidText(certificateSID(cert.Thumbprint)), nil
	}
	return nil, nil
}
