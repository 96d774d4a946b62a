// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"fmt"
	"slices"
	"strings"
)

// forbiddenInFilter are the reserved words of T-SQL that begin a statement, or go on with the one into which the engine
// puts a filter, or reach outside the database. Words that are not reserved and begin a statement are among them.
var forbiddenInFilter = strings.Fields(`
	ADD ALTER AUTHORIZATION BACKUP BEGIN BREAK BROWSE BULK CHECKPOINT CLOSE COMMIT COMPUTE CONTINUE CREATE CURSOR DBCC
	DEALLOCATE DECLARE DELETE DENY DISABLE DROP DUMP ELSEIF ENABLE EXCEPT EXEC EXECUTE FETCH FOR GO GOTO GRANT GROUP HAVING
	IF INSERT INTERSECT INTO KILL LINENO LOAD MERGE OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML OPTION ORDER PRINT
	RAISERROR READTEXT RECEIVE RECONFIGURE RESTORE RETURN REVERT REVOKE ROLLBACK SAVE SEND SET SETUSER SHUTDOWN
	TEXTSIZE THROW TRUNCATE UNION UPDATE UPDATETEXT USE WAITFOR WHILE WRITETEXT`)

// CheckFilter says why a text is not the condition of one WHERE clause and nothing else; nil when it is. The engine
// puts the text between its own words, in a procedure and a view that run with the rights of the publisher: one that
// ends what it stands in could bring a statement of its own.
func CheckFilter(clause string) error {
	depth := 0
	for at := 0; at < len(clause); {
		rest := clause[at:]
		switch c := rest[0]; {
		case c == '\'' || c == '"' || c == '[':
			end := quoted(rest)
			if end < 0 {
				return fmt.Errorf("what begins with %.20q does not end", rest)
			}
			at += end
			continue
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"), strings.HasPrefix(rest, "*/"):
			return fmt.Errorf("a comment (%s) could hide what comes after it", rest[:2])
		case c == ';':
			return fmt.Errorf("a semicolon ends the statement: give one condition")
		case c == 0 || c == '@':
			return fmt.Errorf("%q has no place in it: there are no variables", c)
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return fmt.Errorf("a parenthesis is closed that was not opened")
			}
		case '0' <= c && c <= '9':
			// A word may follow a number at once: 1DROP is two.
		case letter(c):
			end := strings.IndexFunc(rest, func(r rune) bool {
				return r <= 127 && !letter(byte(r)) //nolint:gosec // below 128
			})
			word := rest
			if end >= 0 {
				word = rest[:end]
			}
			if slices.Contains(forbiddenInFilter, strings.ToUpper(word)) {
				return fmt.Errorf("%s is not part of a condition: a column of that name is written [%s]", word, word)
			}
			at += len(word)
			continue
		}
		at++
	}
	if depth > 0 {
		return fmt.Errorf("a parenthesis is opened that is not closed")
	}
	return nil
}

// letter tells of what words are made of.
func letter(c byte) bool {
	return c == '_' || c == '#' || c == '$' || c > 127 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z'
}

// quoted is how long the string or the name in quotes or brackets is with which the text begins; -1 when it does not
// end. Two of its closing character stand for one.
func quoted(text string) int {
	closing := text[0]
	if closing == '[' {
		closing = ']'
	}
	for at := 1; at < len(text); at++ {
		if text[at] != closing {
			continue
		}
		if at+1 < len(text) && text[at+1] == closing {
			at++
			continue
		}
		return at + 1
	}
	return -1
}
