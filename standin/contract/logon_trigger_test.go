// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestLogonTriggers goes by docs/relational-databases/triggers/logon-triggers.md and its neighbours: the example that
// limits connections, what EVENTDATA() tells, messages in the error log, and the start with -f where a trigger lets
// nobody in.
func TestLogonTriggers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	admin := i.open(t, "")
	admin.SetMaxOpenConns(1)
	refused := func(user, password string) {
		t.Helper()
		err := i.openAs(t, user, password, "").Ping()
		var e mssql.Error
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		g.Expect(e.Number).To(Equal(int32(17892)))
	}
	converse(t, admin, []say{
		{
			"CREATE LOGIN login_test WITH PASSWORD = N'Str0ng-Password', CHECK_POLICY = OFF; GRANT VIEW SERVER STATE " +
				"TO login_test",
			"ok",
		},
		{"CREATE DATABASE audit", "ok"},
		{
			"CREATE TABLE audit.dbo.logons (kind sysname, login sysname, type sysname, host sysname, pooled int, original " +
				"sysname, now sysname, depth int)",
			"ok",
		},
		{`CREATE TRIGGER connection_limit_trigger ON ALL SERVER WITH EXECUTE AS N'login_test' FOR LOGON AS
BEGIN
IF ORIGINAL_LOGIN() = N'login_test' AND (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND original_login_name = N'login_test') > 3
    ROLLBACK;
END;`, "ok"},
		{`CREATE TRIGGER noted ON ALL SERVER WITH EXECUTE AS 'sa' FOR LOGON AS
BEGIN
PRINT 'noted: ' + ORIGINAL_LOGIN();
DECLARE @e xml = EVENTDATA();
INSERT audit.dbo.logons SELECT @e.value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'), @e.value('(/EVENT_INSTANCE/LoginName)[1]', 'sysname'), @e.value('(/EVENT_INSTANCE/LoginType)[1]', 'sysname'),
	@e.value('(/EVENT_INSTANCE/ClientHost)[1]', 'sysname'), @e.value('(/EVENT_INSTANCE/IsPooled)[1]', 'int'), ORIGINAL_LOGIN(), SUSER_SNAME(), @@TRANCOUNT
SELECT 'to nobody'
END`, "ok"},
		{
			"SELECT t.name, e.type_desc FROM sys.server_triggers t JOIN sys.server_trigger_events e ON e.object_id = " +
				"t.object_id ORDER BY 1",
			"connection_limit_trigger LOGON; noted LOGON",
		},
	})
	several := i.openAs(t, "login_test", "Str0ng-Password", "")
	for range 3 {
		c, err := several.Conn(context.Background())
		g.Expect(err).NotTo(HaveOccurred())
		defer c.Close()
	}
	refused("login_test", "Str0ng-Password")
	var wrong mssql.Error
	g.Expect(errors.As(i.openAs(t, "login_test", "another", "").Ping(), &wrong)).To(BeTrue())
	g.Expect(wrong.Number).To(Equal(int32(18456)), "the triggers fire after the password was right")
	converse(t, admin, []say{
		{
			"SELECT DISTINCT kind, login, type, host, pooled, original, now, depth FROM audit.dbo.logons",
			"LOGON login_test SQL Login 127.0.0.1 0 login_test sa 1",
		},
		{"SELECT COUNT(*) FROM audit.dbo.logons", "3"},
		{"CREATE TRIGGER nobody ON ALL SERVER FOR LOGON AS ROLLBACK", "ok"},
	})
	g.Expect(i.output.String()).To(ContainSubstring("noted: login_test"))
	refused("sa", saPassword)
	admin.Close()
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	refused("sa", saPassword)
	i.kill()
	i.args = append(i.args, "-f")
	g.Expect(i.launch()).To(Succeed())
	alone := i.open(t, "")
	alone.SetMaxOpenConns(1)
	mustExec(t, alone, "DROP TRIGGER nobody ON ALL SERVER")
	alone.Close()
	i.kill()
	i.args = i.args[:len(i.args)-1]
	g.Expect(i.launch()).To(Succeed())
	converse(t, i.open(t, ""), []say{
		{"CREATE TRIGGER x ON ALL SERVER FOR LOGON, CREATE_TABLE AS ROLLBACK", "!102/15"},
		{"CREATE TRIGGER x ON DATABASE FOR LOGON AS ROLLBACK", "!1098/15"},
		{
			"CREATE TRIGGER x ON ALL SERVER FOR ALTER_INSTANCE, CREATE_LINKED_SERVER AS INSERT audit.dbo.logons (kind, " +
				"login, type, host, original, now) SELECT EVENTDATA().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'), '', " +
				"'', '', '', ''",
			"ok",
		},
		{"EXEC sp_configure 'show advanced options', 1; EXEC sp_addlinkedserver 'far'", "ok"},
		{"SELECT kind FROM audit.dbo.logons WHERE login = '' ORDER BY 1", "ALTER_INSTANCE; CREATE_LINKED_SERVER"},
	})
}
