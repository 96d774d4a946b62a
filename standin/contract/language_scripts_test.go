// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestScriptsOfTables: the definitions that the Generate Scripts wizard writes
// (docs/ssms/scripting/generate-scripts-sql-server-management-studio.md;
// docs/t-sql/statements/create-table-transact-sql.md, Syntax).
func TestScriptsOfTables(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	const options = "WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, " +
		"ALLOW_PAGE_LOCKS = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF) ON [PRIMARY]"
	converse(t, db, []say{
		{"SET ANSI_NULLS ON", "ok"},
		{"SET QUOTED_IDENTIFIER ON", "ok"},
		{
			"CREATE TABLE [dbo].[orders](\n\t[id] [int] IDENTITY(1,1) NOT NULL,\n\t[name] [nvarchar](50) NULL,\n\t[at] " +
				"[datetime2](7) NOT NULL,\n\t[time] [time](3) NULL,\n\t[note] [nvarchar](max) NULL,\n" +
				" CONSTRAINT [PK_orders] PRIMARY KEY CLUSTERED\n(\n\t[id] ASC\n)" + options +
				"\n) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]",
			"ok",
		},
		{
			"CREATE TABLE [dbo].[lines](\n\t[order] [int] NOT NULL,\n\t[line] [int] NOT NULL,\n\t[amount] [decimal](18, 2) " +
				"NOT NULL,\n CONSTRAINT [PK_lines] PRIMARY KEY CLUSTERED\n(\n\t[order] ASC,\n\t[line] ASC\n)" + options +
				",\n CONSTRAINT [UQ_lines] UNIQUE NONCLUSTERED\n(\n\t[line] DESC\n)" + options + "\n) ON [PRIMARY]",
			"ok",
		},
		{"SET ANSI_PADDING ON", "ok"},
		{
			"CREATE NONCLUSTERED INDEX [IX_orders] ON [dbo].[orders]\n(\n\t[name] ASC\n)\nINCLUDE([at]) WITH (PAD_INDEX = " +
				"OFF, STATISTICS_NORECOMPUTE = OFF, SORT_IN_TEMPDB = OFF, DROP_EXISTING = OFF, ONLINE = OFF, ALLOW_ROW_LOCKS = " +
				"ON, ALLOW_PAGE_LOCKS = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF) ON [PRIMARY]",
			"ok",
		},
		{"ALTER TABLE [dbo].[orders] ADD  CONSTRAINT [DF_orders_at]  DEFAULT (sysdatetime()) FOR [at]", "ok"},
		{"ALTER TABLE [dbo].[lines] ADD  DEFAULT ((0)) FOR [amount]", "ok"},
		{
			"ALTER TABLE [dbo].[lines]  WITH CHECK ADD  CONSTRAINT [FK_lines_orders] FOREIGN KEY([order])\nREFERENCES " +
				"[dbo].[orders] ([id])\nON DELETE CASCADE",
			"ok",
		},
		{"ALTER TABLE [dbo].[lines] CHECK CONSTRAINT [FK_lines_orders]", "ok"},
		{"ALTER TABLE [dbo].[lines]  WITH CHECK ADD  CONSTRAINT [CK_lines] CHECK  (([amount]>=(0)))", "ok"},
		{"ALTER TABLE [dbo].[lines] CHECK CONSTRAINT [CK_lines]", "ok"},
		{"ALTER TABLE [dbo].[lines] ADD  CONSTRAINT [UQ_more] UNIQUE NONCLUSTERED\n(\n\t[amount] ASC\n)" + options, "ok"},
		{"SET IDENTITY_INSERT [dbo].[orders] ON", "ok"},
		{
			"INSERT [dbo].[orders] ([id], [name], [at], [time], [note]) VALUES (1, N'a', CAST(N'2026-01-02T03:04:05.0000000' " +
				"AS DateTime2), CAST(N'01:02:03' AS Time), NULL)",
			"ok",
		},
		{"SET IDENTITY_INSERT [dbo].[orders] OFF", "ok"},
		{"CREATE TABLE dbo.bare (a int, b varchar(max)) ON \"PRIMARY\" TEXTIMAGE_ON \"default\"", "ok"},
		{"CREATE TABLE dbo.x (a int) ON PRIMARY", "!102/15"},
		{
			"SELECT name, type_desc FROM sys.indexes WHERE object_id = OBJECT_ID(N'dbo.lines') ORDER BY index_id",
			"PK_lines CLUSTERED; UQ_lines NONCLUSTERED; UQ_more NONCLUSTERED",
		},
	})
}
