CREATE TABLE dbo.numbers (n int NOT NULL PRIMARY KEY);
INSERT INTO dbo.numbers (n) VALUES (1), (2), (3), (4), (5), (6), (7);
CREATE TABLE dbo.loaded (id int NOT NULL PRIMARY KEY, name nvarchar(50) NULL);
CREATE TABLE dbo.keyed (id int NOT NULL PRIMARY KEY);
INSERT INTO dbo.keyed (id) VALUES (1);
GO
CREATE PROCEDURE dbo.p_out @in int, @out int OUTPUT, @text nvarchar(50) OUTPUT AS
BEGIN
  SET @out = @in * 2;
  SET @text = N'grüße ' + @text;
  SELECT @in AS a;
  RETURN 7;
END
GO
CREATE PROCEDURE dbo.p_sets AS
BEGIN
  SELECT n FROM dbo.numbers WHERE n <= 2 ORDER BY n;
  SELECT N'x' AS b, N'y' AS c;
  SELECT n FROM dbo.numbers WHERE n > 100;
END
GO
CREATE PROCEDURE dbo.p_messages AS
BEGIN
  SET NOCOUNT ON;
  PRINT N'printed ä';
  RAISERROR (N'informed %d', 10, 1, 42) WITH NOWAIT;
END
GO
CREATE PROCEDURE dbo.p_raises AS
  RAISERROR (N'failed %s', 16, 3, N'here');
GO
CREATE PROCEDURE dbo.p_name @number int, @text nvarchar(50) = N'by default' AS
  SELECT @number AS number, @text AS text;
