import Testing
import UsherConfig
import UsherCore

@Suite("Merging of several configuration files")
struct MergeTests {
  @Test("a later file overrides the keys it sets; other keys keep their values")
  func keyByKey() throws {
    let config = try Config.load(files: [
      ("usherd.toml", "[limits]\nbatch = 10\nnesting = 20\n[log]\nlevel = \"debug\""),
      ("conf.d/10.toml", "[limits]\nbatch = 11"),
      ("conf.d/20.toml", "limits.batch = 12\nlog = { level = \"error\" }"),
    ])
    #expect(config.limits.batch == 12)
    #expect(config.limits.nesting == 20)
    #expect(config.limits.eventQueue == 256)
    #expect(config.log.level == .error)
  }

  @Test("the providers and rules of all files are appended in file order")
  func arrays() throws {
    let second = provider.replacing("\"work\"", with: "\"home\"")
    let config = try Config.load(files: [
      ("a", provider + client("{ user = \"1\" }", name: "one")),
      ("b", second + client("{ user = \"2\" }", name: "two")),
    ])
    #expect(config.providers.map(\.name.rawValue) == ["work", "home"])
    #expect(config.clients.map(\.name) == ["one", "two"])
  }

  @Test("an array setting in a later file replaces the earlier array instead of extending it")
  func lists() throws {
    let table = try TomlTable.parse(Array("t.a = [1]".utf8), file: "a")
    var laid = table
    #expect(laid.merge(try TomlTable.parse(Array("t.a = [2]".utf8), file: "b")) == [])
    #expect(laid.text == "\n[t]\na = [2]\n" || laid.text == "[t]\na = [2]\n")
  }

  @Test("a provider name used twice is a problem that names both places")
  func twins() {
    #expect(
      problems([("a.toml", provider), ("b.toml", "\n" + provider)])
        == "b.toml:3:8: provider[1].name: provider \"work\" is already defined at a.toml:2:8")
  }

  @Test("two gopay providers with the same callback_listen are a problem; two ports are allowed")
  func listenerTwins() throws {
    func provider(_ name: String, at port: Int) -> String {
      """
      [[provider]]
      name = "\(name)"
      type = "gopay"
      client_id = "acme"
      merchant_id = "merchant"
      callback_listen = "127.0.0.1:\(port)"

      """
    }
    #expect(
      problems([("a.toml", provider("one", at: 8790) + provider("two", at: 8790))])
        == "a.toml:12:19: provider[1].callback_listen: "
        + "127.0.0.1:8790 is already the callback address of provider \"one\"")
    #expect(try load(provider("one", at: 8790) + provider("two", at: 8791)).providers.count == 2)
  }

  @Test("a client rule name used twice is a problem that names both places")
  func clientTwins() {
    let rule = client("{ user = \"1\" }")
    #expect(
      problems([("a.toml", rule + rule)])
        == "a.toml:6:8: client[1].name: client \"till\" is already defined at a.toml:2:8")
  }

  @Test("a later file that replaces a table by another type is a problem that names both places")
  func clash() {
    let entry = "[provider]\nname = \"x\"\n"
    let found = problems([("a.toml", entry), ("b.toml", provider)])
    #expect(
      found.contains("b.toml:1:3: provider: an array cannot override a table at a.toml:1:1"))
    #expect(
      problems([("a.toml", "[limits]\nbatch = 1"), ("b.toml", "limits = 3")])
        == "b.toml:1:1: limits: an integer cannot override a table at a.toml:1:1")
  }

  @Test("the problems of all files are reported, in the order of files and lines")
  func all() {
    let found = problems([
      ("b.toml", "[limits]\nbatch = \"many\"\nnesting = 1\nfoo = 1\n"),
      ("a.toml", "x = \n"),
      ("c.toml", "[log]\nlevel = 3\n"),
    ])
    #expect(
      found.split(separator: "\n").map { $0.prefix { $0 != " " } } == [
        "b.toml:2:9:", "b.toml:3:11:", "b.toml:4:1:", "a.toml:1:5:", "c.toml:2:9:",
      ])
  }

  @Test("after a syntax error in one file, another file's rule gets no unknown-provider problem")
  func half() {
    let rule = client("{ user = \"1\" }", allow: "[\"token.get home\"]")
    #expect(problems([("a.toml", "x = \n"), ("b.toml", rule)]).hasPrefix("a.toml:1:5: "))
    #expect(!problems([("a.toml", "x = \n"), ("b.toml", rule)]).contains("is not defined"))
  }

  @Test("a configuration error with 5000 problems prints 100 of them and holds all")
  func many() throws {
    let text = (0..<5000).map { "key\($0) = 1\n" }.joined()
    do throws(ConfigError) {
      _ = try load(text)
      #expect(Bool(false))
    } catch {
      #expect(error.problems.count == 5000)
      #expect(error.description.hasSuffix("and 4900 more problems"))
    }
  }
}
