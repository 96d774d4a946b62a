// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// documented are statements in every documented form. Names are in brackets or strings, so that each bare word is part
// of the grammar.
var documented = []string{
	// docs/t-sql/statements/create-availability-group-transact-sql.md
	`CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, DB_FAILOVER = ON, DTC_SUPPORT = NONE,
		AUTOMATED_BACKUP_PREFERENCE = SECONDARY_ONLY, FAILURE_CONDITION_LEVEL = 3, HEALTH_CHECK_TIMEOUT = 30000,
		REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1, WRITE_LEASE_VALIDITY = 20)
	FOR DATABASE [a], [b] REPLICA ON
		N'one' WITH (ENDPOINT_URL = N'tcp://one:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL,
			SEEDING_MODE = AUTOMATIC, BACKUP_PRIORITY = 50, SESSION_TIMEOUT = 10,
			SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL, READ_ONLY_ROUTING_URL = N'tcp://one:1433'),
			PRIMARY_ROLE (ALLOW_CONNECTIONS = READ_WRITE, READ_ONLY_ROUTING_LIST = (('two','three'),'one'),
				READ_WRITE_ROUTING_URL = 'tcp://one:1433')),
		N'two' WITH (ENDPOINT_URL = N'tcp://two:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL),
		N'three' WITH (ENDPOINT_URL = N'tcp://three:5022', AVAILABILITY_MODE = CONFIGURATION_ONLY)
	LISTENER 'l' (WITH IP (('10.0.0.1','255.255.255.0'), ('2001::1')), PORT = 1433)`,
	`CREATE AVAILABILITY GROUP [ag] FOR REPLICA ON 'a' WITH (ENDPOINT_URL = 'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT,
		FAILOVER_MODE = AUTOMATIC) LISTENER 'l' (WITH DHCP ON ('10.0.0.0','255.0.0.0'))`,
	`CREATE AVAILABILITY GROUP [ag] WITH (BASIC, CLUSTER_TYPE = NONE) FOR DATABASE [d] REPLICA ON 'a' WITH
		(ENDPOINT_URL = 'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL)`,
	`CREATE AVAILABILITY GROUP [d] WITH (DISTRIBUTED) AVAILABILITY GROUP ON 'a' WITH (LISTENER_URL = 'tcp://a:5022',
		AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC), 'b' WITH
		(LISTENER_URL = 'tcp://b:5022', AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE = MANUAL)`,
	`CREATE AVAILABILITY GROUP [c] WITH (CONTAINED, REUSE_SYSTEM_DATABASES) FOR REPLICA ON 'a' WITH (ENDPOINT_URL = 'TCP://a:5022',
		AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL)`,
	// docs/t-sql/statements/alter-availability-group-transact-sql.md
	`ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 30)`,
	`ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)`,
	`ALTER AVAILABILITY GROUP [ag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0)`,
	`ALTER AVAILABILITY GROUP [ag] ADD DATABASE [d]`, `ALTER AVAILABILITY GROUP [ag] REMOVE DATABASE [d]`,
	`ALTER AVAILABILITY GROUP [ag] ADD REPLICA ON 'x' WITH (ENDPOINT_URL = 'TCP://x:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT,
		FAILOVER_MODE = EXTERNAL, SEEDING_MODE = AUTOMATIC)`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'x' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY))`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'x' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = NONE))`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'x' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = (three)))`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'x' WITH (AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT)`,
	`ALTER AVAILABILITY GROUP [ag] REMOVE REPLICA ON N'x'`,
	`ALTER AVAILABILITY GROUP [ag] JOIN`, `ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)`,
	`ALTER AVAILABILITY GROUP [d] MODIFY AVAILABILITY GROUP ON 'a' WITH (SEEDING_MODE = AUTOMATIC), 'b' WITH (SEEDING_MODE = AUTOMATIC)`,
	`ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE`, `ALTER AVAILABILITY GROUP [ag] DENY CREATE ANY DATABASE`,
	`ALTER AVAILABILITY GROUP [ag] FAILOVER`, `ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS`,
	`ALTER AVAILABILITY GROUP [ag] OFFLINE`,
	`ALTER AVAILABILITY GROUP [ag] ADD LISTENER N'l' (WITH IP ((N'10.0.0.1', N'0.0.0.0')), PORT = 1433)`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY LISTENER 'l' (PORT = 1500)`,
	`ALTER AVAILABILITY GROUP [ag] MODIFY LISTENER 'l' (ADD IP ('10.0.0.2','255.0.0.0'))`,
	`ALTER AVAILABILITY GROUP [ag] RESTART LISTENER 'l'`, `ALTER AVAILABILITY GROUP [ag] REMOVE LISTENER 'l'`,
	`DROP AVAILABILITY GROUP [ag]`,
	// docs/t-sql/statements/create-endpoint-transact-sql.md, alter-endpoint-transact-sql.md
	`CREATE ENDPOINT [e] AUTHORIZATION [sa] STATE = STARTED AS TCP (LISTENER_PORT = 5022, LISTENER_IP = ALL) FOR DATABASE_MIRRORING
		(AUTHENTICATION = CERTIFICATE [c], ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = ALL)`,
	`CREATE ENDPOINT [e] AS TCP (LISTENER_PORT = 5022, LISTENER_IP = (10.1.2.3)) FOR DATABASE_MIRRORING
		(AUTHENTICATION = WINDOWS NEGOTIATE, ENCRYPTION = SUPPORTED ALGORITHM RC4 AES, ROLE = WITNESS)`,
	`ALTER ENDPOINT [e] STATE = STOPPED`, `ALTER ENDPOINT [e] AS TCP (LISTENER_PORT = 5023)`,
	`ALTER ENDPOINT [e] FOR DATABASE_MIRRORING (ENCRYPTION = DISABLED, ROLE = PARTNER)`, `DROP ENDPOINT [e]`,
	// docs/t-sql/statements/alter-event-session-transact-sql.md
	`ALTER EVENT SESSION [AlwaysOn_health] ON SERVER WITH (STARTUP_STATE = ON)`,
	`ALTER EVENT SESSION [AlwaysOn_health] ON SERVER STATE = START`,
	// docs/t-sql/statements/create-certificate-transact-sql.md and its neighbours
	`CREATE CERTIFICATE [c] AUTHORIZATION [u] WITH SUBJECT = N's', START_DATE = '20260101', EXPIRY_DATE = N'20360101'`,
	`CREATE CERTIFICATE [c] ENCRYPTION BY PASSWORD = 'p' WITH SUBJECT = 's'`,
	`CREATE CERTIFICATE [c] FROM FILE = '/c.cer' WITH PRIVATE KEY (FILE = '/c.pvk', DECRYPTION BY PASSWORD = 'a',
		ENCRYPTION BY PASSWORD = 'b') ACTIVE FOR BEGIN_DIALOG = OFF`,
	`CREATE CERTIFICATE [c] AUTHORIZATION [u] FROM BINARY = 0x3082 WITH PRIVATE KEY (BINARY = 0x1e, DECRYPTION BY PASSWORD = 'a')`,
	`ALTER CERTIFICATE [c] REMOVE PRIVATE KEY`, `ALTER CERTIFICATE [c] WITH PRIVATE KEY (ENCRYPTION BY PASSWORD = 'x')`,
	`DROP CERTIFICATE [c]`, `BACKUP CERTIFICATE [c] TO FILE = '/f'`,
	`BACKUP CERTIFICATE [c] TO FILE = '/f' WITH PRIVATE KEY (FILE = '/k', ENCRYPTION BY PASSWORD = 'p')`,
	// docs/t-sql/statements/create-master-key-transact-sql.md and its neighbours
	`CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'p'`, `DROP MASTER KEY`, `OPEN MASTER KEY DECRYPTION BY PASSWORD = 'p'`,
	`CLOSE MASTER KEY`, `ALTER MASTER KEY REGENERATE WITH ENCRYPTION BY PASSWORD = 'p'`,
	`ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY`, `ALTER MASTER KEY DROP ENCRYPTION BY PASSWORD = 'p'`,
	`BACKUP MASTER KEY TO FILE = '/k' ENCRYPTION BY PASSWORD = 'p'`,
	`RESTORE MASTER KEY FROM FILE = '/k' DECRYPTION BY PASSWORD = 'p' ENCRYPTION BY PASSWORD = 'q' FORCE`,
	// docs/t-sql/statements/create-login-transact-sql.md, alter-login-transact-sql.md
	`CREATE LOGIN [l] WITH PASSWORD = N'p', SID = 0x00112233445566778899aabbccddeeff, DEFAULT_DATABASE = [master],
		DEFAULT_LANGUAGE = [us_english], CHECK_EXPIRATION = OFF, CHECK_POLICY = ON`,
	`CREATE LOGIN [l] WITH PASSWORD = 0x0200 HASHED`,
	`CREATE LOGIN [l] WITH PASSWORD = 'p' MUST_CHANGE, CHECK_EXPIRATION = ON`,
	`CREATE LOGIN [l] FROM CERTIFICATE [c]`, `CREATE LOGIN [d\l] FROM WINDOWS WITH DEFAULT_DATABASE = [x]`,
	`ALTER LOGIN [l] ENABLE`, `ALTER LOGIN [l] DISABLE`, `ALTER LOGIN [l] WITH PASSWORD = 'a' OLD_PASSWORD = 'b'`,
	`ALTER LOGIN [l] WITH PASSWORD = 'a' UNLOCK`, `ALTER LOGIN [l] WITH NAME = [m], CHECK_POLICY = OFF`, `DROP LOGIN [l]`,
	// docs/t-sql/statements/create-user-transact-sql.md and its neighbours
	`CREATE USER [u] FOR LOGIN [l] WITH DEFAULT_SCHEMA = [dbo]`, `CREATE USER [u] WITHOUT LOGIN`,
	`CREATE USER [u] FOR CERTIFICATE [c]`,
	`CREATE USER [u]`, `ALTER USER [u] WITH NAME = [v], LOGIN = [l], DEFAULT_SCHEMA = [s]`, `DROP USER IF EXISTS [u]`,
	`CREATE ROLE [r] AUTHORIZATION [dbo]`, `ALTER ROLE [r] ADD MEMBER [u]`, `ALTER ROLE [r] DROP MEMBER [u]`,
	`ALTER ROLE [r] WITH NAME = [s]`, `DROP ROLE [r]`, `CREATE SERVER ROLE [r]`, `ALTER SERVER ROLE [r] ADD MEMBER [l]`,
	`DROP SERVER ROLE [r]`,
	// docs/t-sql/statements/grant-transact-sql.md and its pages by securable
	`GRANT VIEW SERVER STATE, CONNECT SQL TO [l] WITH GRANT OPTION`, `GRANT CONNECT ON ENDPOINT::[e] TO [l]`,
	`GRANT ALTER, CONTROL, VIEW DEFINITION ON AVAILABILITY GROUP::[ag] TO [l]`,
	`DENY SELECT ON [dbo].[t] ([a], [b]) TO [u] CASCADE`,
	`GRANT SELECT ON SCHEMA::[s] TO [u]`, `GRANT EXECUTE ON OBJECT::[dbo].[p] TO [u] AS [dbo]`,
	`REVOKE GRANT OPTION FOR SELECT ON [t] FROM [u] CASCADE`, `REVOKE CREATE TABLE TO [u]`,
	`GRANT IMPERSONATE ON LOGIN::[a] TO [b]`,
	`GRANT SELECT ([a]) ON [t] TO [u]`, `ALTER AUTHORIZATION ON DATABASE::[d] TO [sa]`,
	// docs/t-sql/statements/create-database-transact-sql.md, alter-database-transact-sql*.md
	`CREATE DATABASE [d]`, `CREATE DATABASE [d] CONTAINMENT = NONE ON PRIMARY (NAME = [d], FILENAME = N'/d.mdf', SIZE = 64MB,
		MAXSIZE = UNLIMITED, FILEGROWTH = 10%) LOG ON (NAME = N'l', FILENAME = '/d.ldf', SIZE = 8MB, FILEGROWTH = 65536KB) COLLATE [x]`,
	`CREATE DATABASE [d] ON (FILENAME = '/d.mdf') FOR ATTACH`, `DROP DATABASE IF EXISTS [a], [b]`,
	`ALTER DATABASE [d] SET RECOVERY FULL`, `ALTER DATABASE CURRENT SET SINGLE_USER WITH ROLLBACK IMMEDIATE`,
	`ALTER DATABASE [d] SET ALLOW_SNAPSHOT_ISOLATION ON, READ_COMMITTED_SNAPSHOT OFF WITH NO_WAIT`,
	`ALTER DATABASE [d] SET HADR AVAILABILITY GROUP = [ag]`, `ALTER DATABASE [d] SET HADR OFF`,
	`ALTER DATABASE [d] SET HADR SUSPEND`,
	`ALTER DATABASE [d] SET HADR RESUME`, `ALTER DATABASE [d] MODIFY NAME = [e]`,
	`ALTER DATABASE [d] SET COMPATIBILITY_LEVEL = 160`,
	`ALTER DATABASE [d] MODIFY FILE (NAME = [f], FILENAME = N'/x')`,
	`ALTER DATABASE [d] ADD FILE (NAME = [f], FILENAME = N'/x', SIZE = 8MB)`,
	`ALTER DATABASE [d] ADD LOG FILE (NAME = [f], FILENAME = N'/x')`, `ALTER DATABASE [d] REMOVE FILE [f]`,
	`ALTER DATABASE [d] SET READ_ONLY WITH ROLLBACK AFTER 5 SECONDS`, `ALTER DATABASE [d] SET MULTI_USER`,
	// docs/t-sql/statements/backup-transact-sql.md, restore-statements-transact-sql.md
	`BACKUP DATABASE [d] TO DISK = N'/d.bak' WITH COPY_ONLY, INIT, FORMAT, CHECKSUM, COMPRESSION, STATS = 5, NAME = N'n'`,
	`BACKUP DATABASE [d] TO DISK = '/a', DISK = '/b' WITH DIFFERENTIAL`, `BACKUP LOG [d] TO DISK = @f WITH NORECOVERY`,
	`BACKUP DATABASE @d TO DISK = @f`, `RESTORE DATABASE [d] FROM DISK = '/d' WITH FILE = 1, NORECOVERY, REPLACE, STATS = 10,
		MOVE N'd' TO N'/x', MOVE N'l' TO N'/y'`, `RESTORE LOG [d] FROM DISK = '/l' WITH RECOVERY, STOPAT = '2026-01-01'`,
	`RESTORE DATABASE [d] WITH RECOVERY`, `RESTORE HEADERONLY FROM DISK = '/d'`,
	`RESTORE FILELISTONLY FROM DISK = '/d' WITH FILE = 2`,
	`RESTORE VERIFYONLY FROM DISK = '/d' WITH CHECKSUM`,
	`RESTORE DATABASE [d] FROM DISK = '/d' WITH RECOVERY, KEEP_REPLICATION`,
	// docs/t-sql/statements/execute-as-transact-sql.md, revert-transact-sql.md; docs/t-sql/language-elements/*.md
	`EXECUTE AS LOGIN = N'l'`, `EXECUTE AS USER = 'u' WITH NO REVERT`, `EXEC AS LOGIN = @l WITH COOKIE INTO @c`, `REVERT`,
	`REVERT WITH COOKIE = @c`, `KILL 53`, `KILL 53 WITH STATUSONLY`, `CHECKPOINT`, `CHECKPOINT 10`, `SHUTDOWN WITH NOWAIT`,
	`RECONFIGURE`, `RECONFIGURE WITH OVERRIDE`, `WAITFOR DELAY '00:00:01'`, `WAITFOR TIME @t`,
}

func TestDocumentedStatements(t *testing.T) {
	for _, text := range documented {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			b, err := syntax.Parse(text)
			g.Expect(err).To(BeNil())
			g.Expect(b.Statements).To(HaveLen(1))
			g.Expect(syntax.IsOwn(b.Statements[0].Node)).To(BeTrue())
			g.Expect(b.Statements[0].Text).To(Equal(text))
			b, err = syntax.Parse("SELECT 1;\n" + strings.ToLower(text) + ";\nSELECT 2")
			g.Expect(err).To(BeNil(), "in lower case, between others")
			g.Expect(b.Statements).To(HaveLen(3))
			g.Expect(b.Statements[1].Line).To(BeEquivalentTo(2))
		})
	}
}

// bareWords are the positions of words outside of quotes, brackets and variables.
func bareWords(text string) [][2]int {
	var words [][2]int
	var closing rune
	start := -1
	for i, r := range text + " " {
		inWord := unicode.IsLetter(r) || r == '_' || start >= 0 && unicode.IsDigit(r)
		switch {
		case closing != 0:
			if r == closing {
				closing = 0
			}
		case start < 0 && i > 0 && (text[i-1] == '@' || unicode.IsDigit(rune(text[i-1])) ||
			unicode.IsLetter(rune(text[i-1]))):
		case start < 0 && inWord && !(r == 'N' && i+1 < len(text) && text[i+1] == '\''):
			start = i
		case start >= 0 && !inWord:
			words = append(words, [2]int{start, i})
			start = -1
		}
		if closing == 0 && start < 0 {
			if r == '\'' {
				closing = '\''
			} else if r == '[' {
				closing = ']'
			}
		}
	}
	return words
}

func TestEveryWordOfADocumentedStatementCounts(t *testing.T) {
	for _, text := range documented {
		for _, w := range bareWords(text) {
			word := text[w[0]:w[1]]
			if word == "CURRENT" {
				continue // a name may stand there
			}
			mutated := text[:w[0]] + "zzz" + text[w[1]:]
			t.Run(fmt.Sprintf("%s: %s", word, mutated), func(t *testing.T) {
				g := NewWithT(t)
				_, err := syntax.Parse("SELECT 1;\n" + mutated)
				g.Expect(err).NotTo(BeNil())
				g.Expect(err.Line).To(BeNumerically(">=", 2), err.Message)
			})
		}
	}
}

func TestUnknownOptionIsNamedOnItsLine(t *testing.T) {
	for text, line := range map[string]int32{
		"ALTER AVAILABILITY GROUP [ag] SET (\nNONSENSE = 1)":                                               2,
		"CREATE CERTIFICATE c WITH SUBJECT = 's',\n NONSENSE = 'x'":                                        2,
		"CREATE ENDPOINT e AS TCP (LISTENER_PORT = 5022,\nNONSENSE = 1)":                                   2,
		"BACKUP DATABASE d TO DISK = 'x' WITH\nNONSENSE":                                                   2,
		"ALTER DATABASE d SET\n\nNONSENSE ON":                                                              3,
		"RESTORE DATABASE d FROM DISK = 'x' WITH NONSENSE":                                                 1,
		"ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON 'x' WITH (SECONDARY_ROLE (NONSENSE = READ_ONLY))": 1,
		"ALTER LOGIN l WITH NONSENSE = 1":                                                                  1,
		"CREATE DATABASE d ON (NONSENSE = 1)":                                                              1,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := syntax.Parse(text)
			g.Expect(err).NotTo(BeNil())
			g.Expect(err.Number).To(BeEquivalentTo(155), err.Message)
			g.Expect(err.Line).To(Equal(line))
			g.Expect(err.Message).To(ContainSubstring("'NONSENSE'"))
		})
	}
}

func TestOptionGivenTwice(t *testing.T) {
	g := NewWithT(t)
	_, err := syntax.Parse("CREATE LOGIN l WITH PASSWORD = 'x', CHECK_POLICY = ON, CHECK_POLICY = OFF")
	g.Expect(err).NotTo(BeNil())
	g.Expect(err.Number).To(BeEquivalentTo(1039))
}
