package engine_test
import "testing"
func TestScratch(t *testing.T) {
	_, c := testDB(t)
	c.exec("CREATE TABLE a (id int, v varchar(10)); INSERT INTO a VALUES (1, 'x'), (2, 'y')")
	c.exec("CREATE TABLE #t (id int IDENTITY PRIMARY KEY, aid int, v varchar(10))")
	c.exec("INSERT INTO #t (aid, v) SELECT id, v FROM a")
	t.Log(c.rows("SELECT * FROM #t"))
	t.Log(c.rows("SELECT * FROM #t t, a"))
	t.Log(c.rows("SELECT t.id, a.v FROM #t t JOIN a ON a.id = t.aid ORDER BY t.id"))
	for _, q := range []string{"SELECT v COLLATE Latin1_General_BIN2 FROM a", "SELECT 1 FROM a WHERE v = 'A' COLLATE Latin1_General_BIN2","SELECT 1 FROM a WHERE v COLLATE Latin1_General_BIN2 = 'A'", "SELECT 1 FROM a ORDER BY v COLLATE Latin1_General_BIN2", "SELECT CAST(v AS varchar(5)) COLLATE Latin1_General_BIN2 FROM a"} {
		_, err := c.ExecContext(t.Context(), q)
		t.Log(q, err)
	}
}
