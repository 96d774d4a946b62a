// SPDX-License-Identifier: Apache-2.0

package tsql

import "strings"

// The statements of the profiles bookstore and decisionSupport of internal/workload: a small bookstore, of which one
// buys and the other asks what was sold.

// Sizes of the bookstore that PrepareStore makes. The report that the profile is modelled on had a million books and
// 50,000 customers; its 21 categories are kept.
const (
	StoreCategories = 21
	StoreBooks      = 1000
	StoreCustomers  = 500
	// StoreSold is how many purchases there are from the beginning, for those who ask what was sold.
	StoreSold = 2000
)

// numbers are the integers from 0 to 10^digits-1 as a derived table N(n)
// (docs/t-sql/queries/table-value-constructor-transact-sql.md).
func numbers(digits int) string {
	var terms, tables []string
	factor := "1"
	for i := range digits {
		alias := string(rune('a' + i))
		terms = append(terms, alias+".n * "+factor)
		tables = append(tables, "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS "+alias+" (n)")
		factor += "0"
	}
	return "(SELECT " + strings.Join(terms, " + ") + " AS n FROM " + strings.Join(tables, " CROSS JOIN ") + ") AS N"
}

// fill inserts rows numbered from 1 to count unless the table has rows.
func fill(table, columns, values string, digits, count int) Statement {
	return new(
		builder,
	).sql("IF NOT EXISTS (SELECT 1 FROM ", table, ")\n    INSERT INTO ", table, " (", columns, ") SELECT ", values,
		" FROM ", numbers(digits), " WHERE N.n < ", Integer(count)).
		done("fill " + table)
}

// PrepareStore makes the tables of the bookstore and fills them unless that was done before.
func PrepareStore() []Statement {
	table := func(name, columns string) Statement {
		return new(
			builder,
		).sql("IF OBJECT_ID(N'dbo.", name, "', N'U') IS NULL\n    CREATE TABLE dbo.", name, " (", columns, ")").
			done("create table dbo." + name)
	}
	return []Statement{
		table("Category", "Id int NOT NULL CONSTRAINT PK_Category PRIMARY KEY, Name nvarchar(40) NOT NULL"),
		table(
			"Customer",
			"Id int NOT NULL CONSTRAINT PK_Customer PRIMARY KEY, Email varchar(80) NOT NULL CONSTRAINT UQ_Customer UNIQUE, "+
				"Name nvarchar(80) NOT NULL",
		),
		table(
			"Book",
			"Id int NOT NULL CONSTRAINT PK_Book PRIMARY KEY, CategoryId int NOT NULL, Title nvarchar(100) NOT NULL, Price "+
				"decimal(9, 2) NOT NULL, Sold int NOT NULL",
		),
		table(
			"Purchase",
			"Run bigint NOT NULL, Op bigint NOT NULL, Line int NOT NULL, CustomerId int NOT NULL, BookId int NOT NULL, "+
				"Amount decimal(9, 2) NOT NULL, "+
				"SoldAt datetime2(7) NOT NULL, CONSTRAINT PK_Purchase PRIMARY KEY (Run, Op, Line)",
		),
		fill("dbo.Category", "Id, Name", "N.n + 1, CONCAT(N'Category ', N.n + 1)", 2, StoreCategories),
		fill(
			"dbo.Customer",
			"Id, Email, Name",
			"N.n + 1, CONCAT('customer', N.n + 1, '@example.com'), CONCAT(N'Customer ', N.n + 1)",
			3,
			StoreCustomers,
		),
		fill(
			"dbo.Book",
			"Id, CategoryId, Title, Price, Sold",
			"N.n + 1, N.n % "+Integer(
				StoreCategories,
			)+" + 1, CONCAT(N'Volume ', N.n % 97, N' of work ', N.n + 1), CAST(5 + N.n % 40 AS decimal(9, 2)), 0",
			3,
			StoreBooks,
		),
		fill(
			"dbo.Purchase",
			"Run, Op, Line, CustomerId, BookId, Amount, SoldAt",
			"0, N.n + 1, 1, N.n % "+Integer(StoreCustomers)+" + 1, N.n * 7 % "+Integer(StoreBooks)+
				" + 1, CAST(5 + N.n % 40 AS decimal(9, 2)), DATEADD(hour, 0 - N.n, SYSUTCDATETIME())",
			4,
			StoreSold,
		),
	}
}

// StoreLogin finds a customer by the address that was typed.
func StoreLogin(email string) Statement {
	return new(
		builder,
	).sql("SELECT Id, Name FROM dbo.Customer WHERE Email = @email").
		arg("email", email).
		done("bookstore: login")
}

// StoreBrowse reads a category's first books.
func StoreBrowse(category int) Statement {
	return new(builder).sql("SELECT TOP (20) Id, Title, Price FROM dbo.Book WHERE CategoryId = @category ORDER BY Title").
		arg("category", category).done("bookstore: browse")
}

// StoreSearch reads books whose title contains a phrase.
func StoreSearch(phrase string) Statement {
	escaped := strings.NewReplacer("[", "[[]", "%", "[%]", "_", "[_]").Replace(phrase)
	return new(builder).sql("SELECT TOP (20) Id, Title, Price FROM dbo.Book WHERE Title LIKE @phrase ORDER BY Id").
		arg("phrase", "%"+escaped+"%").done("bookstore: search")
}

// StoreView reads one book with its category.
func StoreView(id int) Statement {
	return new(
		builder,
	).sql("SELECT b.Title, b.Price, b.Sold, c.Name FROM dbo.Book AS b JOIN dbo.Category AS c ON c.Id = b.CategoryId "+
		"WHERE b.Id = @id").
		arg("id", id).
		done("bookstore: view")
}

// StoreOrders reads a customer's newest purchases.
func StoreOrders(customer int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (20) p.SoldAt, b.Title, p.Amount FROM dbo.Purchase AS p JOIN dbo.Book AS b ON b.Id = p.BookId "+
		"WHERE p.CustomerId = @customer ORDER BY p.SoldAt DESC").
		arg("customer", customer).
		done("bookstore: orders")
}

// StoreBuy is one transaction: a purchase, the book's sales, and the row of dbo.Recorded by which the purchase is
// known.
func StoreBuy(r RecordedRow, customer, book int) Statement {
	b := new(builder).sql(beginRecorded,
		"INSERT INTO dbo.Purchase (Run, Op, Line, CustomerId, BookId, Amount, SoldAt) SELECT @run, @op, 1, @customer, Id, "+
			"Price, SYSUTCDATETIME() FROM dbo.Book WHERE Id = @book;\n",
		"UPDATE dbo.Book SET Sold = Sold + 1 WHERE Id = @book;\n").
		arg("customer", customer).arg("book", book)
	return r.end(b).done("bookstore: buy")
}

// StoreLoad is one transaction: a purchase of that many lines, as a warehouse takes them in, and its row of
// dbo.Recorded.
func StoreLoad(r RecordedRow, customer, lines int) Statement {
	b := new(builder).sql(beginRecorded,
		"INSERT INTO dbo.Purchase (Run, Op, Line, CustomerId, BookId, Amount, SoldAt) SELECT TOP (", Integer(lines),
		") @run, @op, Id, @customer, Id, Price, SYSUTCDATETIME() FROM dbo.Book ORDER BY Id;\n").
		arg("customer", customer)
	return r.end(b).done("decision support: load")
}

// PurchaseRuns reads which runs have purchases; those that PrepareStore makes are of none.
func PurchaseRuns() Statement {
	return text("SELECT DISTINCT Run FROM dbo.Purchase WHERE Run > 0 ORDER BY Run")
}

// ReadPurchases reads Op, Line, CustomerId, BookId, Amount as text, and SoldAt of a run's purchases after a line of an
// operation, in the order of their key, at most limit of them.
func ReadPurchases(run, op, line int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Op, Line, CustomerId, BookId, CAST(Amount AS nvarchar(20)), SoldAt "+
		"FROM dbo.Purchase WHERE Run = @run AND (Op > @op OR Op = @op AND Line > @line) ORDER BY Op, Line").
		arg("run", run).arg("op", op).arg("line", line).
		done("read dbo.Purchase")
}

// ReadBooks reads Id, Price as text, and Sold of all books.
func ReadBooks() Statement {
	return text("SELECT Id, CAST(Price AS nvarchar(20)), Sold FROM dbo.Book ORDER BY Id")
}

// StoreRevenueByCategory is what each category has brought in.
func StoreRevenueByCategory() Statement {
	return text(
		"SELECT c.Name, COUNT(*) AS Lines, SUM(p.Amount) AS Revenue FROM dbo.Purchase AS p JOIN dbo.Book AS b ON b.Id = " +
			"p.BookId JOIN dbo.Category AS c ON c.Id = b.CategoryId GROUP BY c.Name ORDER BY Revenue DESC",
	)
}

// StoreBestSellers are the books that have brought in most.
func StoreBestSellers() Statement {
	return text(
		"SELECT TOP (20) b.Title, SUM(p.Amount) AS Revenue FROM dbo.Purchase AS p JOIN dbo.Book AS b ON b.Id = p.BookId " +
			"GROUP BY b.Title ORDER BY Revenue DESC",
	)
}

// StoreBestCustomers are the customers who have bought most.
func StoreBestCustomers() Statement {
	return text(
		"SELECT TOP (20) c.Name, COUNT(*) AS Lines, SUM(p.Amount) AS Revenue FROM dbo.Purchase AS p JOIN dbo.Customer AS " +
			"c ON c.Id = p.CustomerId GROUP BY c.Name ORDER BY Revenue DESC",
	)
}

// StoreRevenueByDay is what each day has brought in.
func StoreRevenueByDay() Statement {
	return text(
		"SELECT CAST(SoldAt AS date) AS Day, SUM(Amount) AS Revenue, AVG(Amount) AS Mean FROM dbo.Purchase GROUP BY " +
			"CAST(SoldAt AS date) ORDER BY Day",
	)
}

// StoreUnsoldBooks counts the books of each category that nobody has bought.
func StoreUnsoldBooks() Statement {
	return text(
		"SELECT b.CategoryId, COUNT(*) AS Unsold FROM dbo.Book AS b WHERE NOT EXISTS (SELECT 1 FROM dbo.Purchase AS p " +
			"WHERE p.BookId = b.Id) GROUP BY b.CategoryId ORDER BY b.CategoryId",
	)
}
