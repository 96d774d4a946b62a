// SPDX-License-Identifier: Apache-2.0

// Command certify asks servers what the ledger (internal/tsql/ledger) wants to know, and makes one report of that and
// of what the tests found. hack/certify/run calls it. The stand-in is the only engine that it has been tried with.
//
//	certify settle -out FILE -ca FILE NAME=HOST:PORT...   sends the harmless settling statements, as sa
//	certify report FOLDER                                 makes report.md and the ledger's new files of FOLDER's results
//
// GEOSQL_CONTRACT_PASSWORD has the password of sa.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql/ledger"
)

const passwordVariable = "GEOSQL_CONTRACT_PASSWORD"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "certify: "+redact(err.Error(), os.Getenv(passwordVariable)))
		cancel()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "settle":
			return settleCommand(ctx, args[1:])
		case "report":
			return reportCommand(args[1:])
		case "redact":
			return redactCommand(args[1:])
		}
	}
	return errors.New("usage: certify settle -out FILE -ca FILE NAME=HOST:PORT... | certify report FOLDER | " +
		"certify redact FOLDER")
}

func settleCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("settle", flag.ContinueOnError)
	out := flags.String("out", "settle.json", "`file` to write the answers to")
	ca := flags.String("ca", "", "`file` with the CA that signed the servers' certificates")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pem, err := os.ReadFile(*ca)
	if err != nil {
		return fmt.Errorf("read the CA (-ca): %w", err)
	}
	access := mssql.Access{CA: pem,
		Passwords: credentials.Passwords{credentials.RoleSA.Key(): []byte(os.Getenv(passwordVariable))}}
	var servers []Server
	for _, arg := range flags.Args() {
		name, address, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=HOST:PORT, with the name in the server's certificate", arg)
		}
		s, err := settleOn(ctx, name, address, access)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 {
		return errors.New("name at least one server, as NAME=HOST:PORT")
	}
	text, err := json.MarshalIndent(servers, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, text, 0o600)
}

// settleOn asks one server, by a name that its certificate has.
func settleOn(ctx context.Context, name, address string, access mssql.Access) (Server, error) {
	c := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return access, nil
		}),
		Address:         func(mssql.Target) string { return address },
		CertificateName: func(mssql.Target) string { return name },
		Program:         "geosql-certify",
	})
	defer c.Close()
	target := mssql.Target{Server: v1alpha1.ServerName(strings.TrimSuffix(name, "-0")), Role: credentials.RoleSA}
	return settle(ctx, ledger.All(), func(ctx context.Context, database string) (mssql.Querier, error) {
		target.Database = database
		return c.Open(ctx, target)
	})
}

// reportCommand makes report.md of the results of a folder: settle*.json, contract.txt and scenes*.json. The doubts as
// they are after the run go to its folder ledger, for diff.
func reportCommand(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: certify report FOLDER")
	}
	folder := args[0]
	r, err := readRun(folder)
	if err != nil {
		return err
	}
	text := r.report(ledger.All())
	if err := os.WriteFile(filepath.Join(folder, "report.md"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	files, err := filepath.Glob(filepath.Join("internal", "tsql", "ledger", "doubts_*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find the ledger's files: run it in the checkout's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "ledger"), 0o700); err != nil {
		return err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		after := r.settled(string(data), ledger.All())
		if err := os.WriteFile(filepath.Join(folder, "ledger", filepath.Base(name)), []byte(after), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// secretsVariable names a file with every secret that a run has used, a line each; shortest is the length from which a
// line is taken for one.
const (
	secretsVariable = "GEOSQL_CERTIFY_SECRETS"
	shortest        = 8
)

// redactCommand takes the secrets out of every file of a folder.
func redactCommand(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: certify redact FOLDER")
	}
	secrets := []string{os.Getenv(passwordVariable)}
	if name := os.Getenv(secretsVariable); name != "" {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the secrets of this run: %w", err)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); len(line) >= shortest {
				secrets = append(secrets, line)
			}
		}
	}
	return filepath.WalkDir(args[0], func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text := redact(string(data), secrets...); text != string(data) {
			return os.WriteFile(name, []byte(text), 0o600)
		}
		return nil
	})
}

func readRun(folder string) (r run, err error) {
	settled, err := filepath.Glob(filepath.Join(folder, "settle*.json"))
	if err != nil {
		return r, err
	}
	for _, name := range settled {
		data, err := os.ReadFile(name)
		if err != nil {
			return r, err
		}
		var servers []Server
		if err := json.Unmarshal(data, &servers); err != nil {
			return r, fmt.Errorf("read %s: %w", name, err)
		}
		r.servers = append(r.servers, servers...)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "contract.txt")); err == nil {
		r.contract = string(data)
	}
	events, err := filepath.Glob(filepath.Join(folder, "scenes*.json"))
	if err != nil {
		return r, err
	}
	for _, name := range events {
		file, err := os.Open(name)
		if err != nil {
			return r, err
		}
		scenes, err := readScenes(file)
		_ = file.Close()
		if err != nil {
			return r, fmt.Errorf("read %s: %w", name, err)
		}
		r.scenes = append(r.scenes, scenes...)
	}
	return r, nil
}
