// SPDX-License-Identifier: Apache-2.0

package token

import "strings"

// reserved are Transact-SQL's reserved keywords (docs/t-sql/language-elements/reserved-keywords-transact-sql.md,
// "SQL Server and Azure Synapse Analytics"): unquoted they can't be names, and an error near one is 156.
var reserved = func() map[string]bool {
	words := strings.Fields(
		`ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE
		CHECK CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS CONTAINSTABLE CONTINUE
		CONVERT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DBCC DEALLOCATE
		DECLARE DEFAULT DELETE DENY DESC DISK DISTINCT DISTRIBUTED DOUBLE DROP DUMP ELSE END ERRLVL ESCAPE EXCEPT EXEC EXECUTE
		EXISTS EXIT EXTERNAL FETCH FILE FILLFACTOR FOR FOREIGN FREETEXT FREETEXTTABLE FROM FULL FUNCTION GOTO GRANT GROUP HAVING
		HOLDLOCK IDENTITY IDENTITY_INSERT IDENTITYCOL IF IN INDEX INNER INSERT INTERSECT INTO IS JOIN KEY KILL LEFT LIKE LINENO
		LOAD MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF OFF OFFSETS ON OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML
		OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN PRECISION PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT
		RECONFIGURE REFERENCES REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE
		SCHEMA SECURITYAUDIT SELECT SEMANTICKEYPHRASETABLE SEMANTICSIMILARITYDETAILSTABLE SEMANTICSIMILARITYTABLE SESSION_USER SET
		SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE TABLESAMPLE TEXTSIZE THEN TO TOP TRAN TRANSACTION TRIGGER TRUNCATE
		TRY_CONVERT TSEQUAL UNION UNIQUE UNPIVOT UPDATE UPDATETEXT USE USER VALUES VARYING VIEW WAITFOR WHEN WHERE WHILE WITH
		WITHIN WRITETEXT`,
	)
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}()

// IsReserved tells whether an unquoted word is a reserved keyword.
func IsReserved(word string) bool { return reserved[strings.ToUpper(word)] }

// formerKeywords are on the list of reserved words and name columns and tables all the same: the statements that they
// were of are gone, or have them in places where no name stands.
var formerKeywords = Words("DISK DUMP LOAD PRECISION SECURITYAUDIT WITHIN")

// IsKeyword tells whether an unquoted word can't be a name.
func IsKeyword(word string) bool { return IsReserved(word) && !formerKeywords[Upper(word)] }

// IsKeyword tells whether the token is an unquoted word that can't be a name.
func (t Token) IsKeyword() bool { return t.Reserved && !formerKeywords[t.Fold] }
