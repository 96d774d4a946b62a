// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestForXMLExplicit: docs/relational-databases/xml/use-explicit-mode-with-for-xml.md and its examples: employees,
// siblings, ELEMENT, ELEMENTXSINIL, HIDE, XML and CDATA.
func TestForXMLExplicit(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE e (id int, f nvarchar(20), m nvarchar(20)); INSERT e VALUES (1, N'Ken', N'J'), (2, N'Terri', NULL)",
			"ok",
		},
		{`SELECT 1 AS Tag, NULL AS Parent, id AS [Employee!1!EmpID], NULL AS [Name!2!FName], NULL AS [Name!2!MName] FROM e
UNION ALL SELECT 2, 1, id, f, m FROM e ORDER BY [Employee!1!EmpID], [Name!2!FName] FOR XML EXPLICIT`,
			`<Employee EmpID="1"><Name FName="Ken" MName="J"/></Employee><Employee EmpID="2"><Name FName="Terri"/></Employee>`},
		{
			`SELECT 1 AS Tag, 0 AS Parent, id AS [Employee!1!EmpID], NULL AS [Name!2!FName!ELEMENT], NULL AS [Name!2!MName!ELEMENTXSINIL] FROM e
UNION ALL SELECT 2, 1, id, f, m FROM e ORDER BY [Employee!1!EmpID], [Name!2!FName!ELEMENT] FOR XML EXPLICIT`,
			`<Employee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" EmpID="1"><Name><FName>Ken</FName><MName>J</MName></Name></Employee>` +
				`<Employee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" EmpID="2"><Name><FName>Terri</FName><MName xsi:nil="true"/></Name></Employee>`,
		},
		{`SELECT 1 AS Tag, NULL AS Parent, id AS [a!1!id], NULL AS [b!2], NULL AS [c!3!x!hide], NULL AS [c!3!!cdata] FROM e
UNION ALL SELECT 2, 1, id, f + N'<', NULL, NULL FROM e UNION ALL SELECT 3, 1, id, NULL, 9, N'<&>' FROM e WHERE id = 1
ORDER BY [a!1!id], Tag FOR XML EXPLICIT, ROOT('r')`,
			`<r><a id="1"><b>Ken&lt;</b><c><![CDATA[<&>]]></c></a><a id="2"><b>Terri&lt;</b></a></r>`},
		{
			"SELECT 1 AS Tag, NULL AS Parent, '<x/>' AS [s!1!d!xml], '<x/>' AS [s!1!e!element], CAST('<y/>' AS xml) AS " +
				"[s!1!g] FOR XML EXPLICIT",
			"<s><d><x/></d><e>&lt;x/&gt;</e><g><y/></g></s>",
		},
		{
			"SELECT CAST((SELECT 1 AS Tag, NULL AS Parent, 5 AS [a!1!b] FOR XML EXPLICIT, TYPE).query('/a/@b = 5') AS " +
				"nvarchar(10))",
			"true",
		},
		{"SELECT 2 AS Tag, 1 AS Parent, 5 AS [a!1!b], 6 AS [c!2!d] FOR XML EXPLICIT", "!6833/16/1"},
		{"SELECT 3 AS Tag, NULL AS Parent, 5 AS [a!1!b] FOR XML EXPLICIT", "!6806/16/1"},
		{"SELECT 0 AS Tag, NULL AS Parent, 5 AS [a!1!b] FOR XML EXPLICIT", "!6803/16/1"},
		{"SELECT 1 AS Tag, -1 AS Parent, 5 AS [a!1!b] FOR XML EXPLICIT", "!6804/16/1"},
		{"SELECT 1 AS Tag, NULL AS Parent FOR XML EXPLICIT", "!6801/16"},
		{"SELECT 1 AS Tag, NULL AS Parent, 5 AS b FOR XML EXPLICIT", "!6802/16/1"},
		{"SELECT 1 AS Tag, NULL AS Parent, 5 AS [a!1!b!xmltext] FOR XML EXPLICIT", "!40517/16"},
	})
}
