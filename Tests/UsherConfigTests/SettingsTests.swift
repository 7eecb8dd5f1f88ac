import FoundationEssentials
import Testing
import UsherConfig

@Suite("Settings of the configuration")
struct SettingsTests {
  @Test("no file and an empty file both load as the default configuration")
  func defaults() throws {
    #expect(try Config.load(files: []) == Config())
    #expect(try load("") == Config())
  }

  @Test("the default limits have the documented values")
  func contract() {
    let limits = Limits()
    #expect(limits.maxLineBytes == 1 << 20)
    #expect([limits.nesting, limits.lineSeconds, limits.batch] == [32, 10, 64])
    #expect([limits.callsInFlight, limits.connectionsPerUser] == [64, 256])
    #expect(limits.subscriptionsPerUser == 64)
    #expect([limits.connections, limits.adminReserve] == [2048, 8])
    #expect([limits.liveFlowsPerUser, limits.flowStartsPerMinute] == [1024, 30])
    #expect(limits.registrationChecksPerMinute == 30)
    #expect([limits.unreadReplyBytes, limits.unreadReplySeconds] == [1 << 20, 5])
    #expect([limits.forceRefreshSeconds, limits.eventQueue] == [10, 256])
    #expect([limits.requestIdDays, limits.finishedFlowHours] == [30, 24])
    #expect(limits.finishedFlowsPerUser == 1000)
    #expect([limits.accountsInMemory, limits.accountsInList] == [10_000, 2000])
  }

  @Test("audit.max_rows and audit.max_days are read, and refused outside their ranges")
  func audit() throws {
    #expect([AuditSettings.blank.maxRows, AuditSettings.blank.maxDays] == [100_000, 90])
    let config = try load("[audit]\nmax_rows = 1000\nmax_days = 3650\n")
    #expect([config.audit.maxRows, config.audit.maxDays] == [1000, 3650])
    #expect(
      problems("audit.max_rows = 999")
        == "usherd.toml:1:18: audit.max_rows: must be between 1000 and 10000000, is 999")
    #expect(
      problems("audit.max_days = 0")
        == "usherd.toml:1:18: audit.max_days: must be between 1 and 3650, is 0")
  }

  @Test(
    "an unknown key is a problem that names its place and suggests a close key",
    arguments: [
      ("foo = 1", "usherd.toml:1:1: foo: unknown key"),
      ("[foo]\nx = 1", "usherd.toml:1:2: foo: unknown key"),
      ("[limit]\nbatch = 1", "usherd.toml:1:2: limit: unknown key; did you mean limits?"),
      ("[limits]\nbacth = 1", "usherd.toml:2:1: limits.bacth: unknown key; did you mean batch?"),
      (
        "[limits]\nline_secnds = 1",
        "usherd.toml:2:1: limits.line_secnds: unknown key; did you mean line_seconds?"
      ),
      ("[limits]\nzzz = 1", "usherd.toml:2:1: limits.zzz: unknown key"),
      (
        "[[providers]]\nname = \"x\"",
        "usherd.toml:1:3: providers: unknown key; did you mean provider?"
      ),
    ])
  func unknown(text: String, problem: String) {
    #expect(problems(text) == problem)
  }

  @Test(
    "a value of the wrong type is a problem that names the expected and the found type",
    arguments: [
      ("limits = 3", "usherd.toml:1:10: limits: expected a table, found an integer"),
      (
        "limits.batch = \"3\"",
        "usherd.toml:1:16: limits.batch: expected an integer, found a string"
      ),
      (
        "limits.batch = 3.0",
        "usherd.toml:1:16: limits.batch: expected an integer, found a number with a fraction"
      ),
      (
        "limits.batch = true",
        "usherd.toml:1:16: limits.batch: expected an integer, found a boolean"
      ),
      (
        "log.level = 1979-05-27",
        "usherd.toml:1:13: log.level: expected a string, found a date or time"
      ),
      (
        "log.level = 07:32:00",
        "usherd.toml:1:13: log.level: expected a string, found a date or time"
      ),
      ("log.level = [\"info\"]", "usherd.toml:1:13: log.level: expected a string, found an array"),
      (
        "[provider]\nname = \"x\"",
        "usherd.toml:1:2: provider: expected [[provider]], found a table"
      ),
      ("provider = [1]", "usherd.toml:1:13: provider[0]: expected a table, found an integer"),
      (
        "access.group = 1.5",
        "usherd.toml:1:16: access.group: expected a name or a numeric id, found a number with a fraction"
      ),
    ])
  func types(text: String, problem: String) {
    #expect(problems(text) == problem)
  }

  @Test(
    "each setting of [limits] has a lowest and highest value and accepts its default",
    arguments: Limits.keys)
  func ranges(key: String) throws {
    #expect(
      message(problems("limits.\(key) = -1")).hasPrefix("must be between "), "\(key)")
    #expect(
      message(problems("limits.\(key) = 9223372036854775807")).hasPrefix("must be between "))
    guard case .integer(let value) = Limits().tomlTable[key]?.node.value else {
      return #expect(Bool(false))
    }
    #expect(problems("limits.\(key) = \(value)") == "")
    #expect(try load("limits.\(key) = \(value + 1)").limits != Limits())
  }

  @Test("a number out of range is a problem that names the range")
  func range() {
    #expect(
      problems("[limits]\nbatch = 0")
        == "usherd.toml:2:9: limits.batch: must be between 1 and 1024, is 0")
    #expect(message(problems("flow.deadline_seconds = 5")) == "must be between 30 and 86400, is 5")
  }

  @Test("limits.admin_reserve must be less than limits.connections")
  func reserve() {
    #expect(
      problems("[limits]\nadmin_reserve = 20\nconnections = 20")
        == "usherd.toml:2:17: limits.admin_reserve: must be less than connections, which is 20")
  }

  @Test(
    "store.url must be a SQLite path; PostgreSQL is refused as not supported",
    arguments: [
      ("sqlite:usherd.db", nil), ("sqlite:/var/lib/x.db", nil), ("sqlite:a/b.db", nil),
      ("sqlite:", "must be \"sqlite:PATH\""), ("sqlite:///x", "must be \"sqlite:PATH\""),
      ("usherd.db", "must be \"sqlite:PATH\""), ("", "must be \"sqlite:PATH\""),
      ("sqlite:a\\u0000b", "must be \"sqlite:PATH\""),
      (
        "postgresql://db/usher",
        "postgresql is not supported by this build; use \"sqlite:PATH\""
      ),
      ("postgres://db", "postgresql is not supported by this build; use \"sqlite:PATH\""),
    ] as [(String, String?)])
  func store(url: String, problem: String?) throws {
    let text = "store.url = \"\(url)\""
    #expect(message(problems(text)) == problem ?? "")
    if problem == nil { #expect(try load(text).store.url.settingText == url) }
  }

  @Test(
    "access.group is a group name or a numeric group id",
    arguments: [
      ("\"staff\"", .name("staff")), ("\"1000\"", .id(1000)), ("1000", .id(1000)), ("0", .id(0)),
      ("\"\"", nil), ("-1", nil), ("4294967295", nil), ("\"a b\"", nil), ("\"a:b\"", nil),
      ("99999999999", nil), ("\"-x\"", nil),
    ] as [(String, Principal?)])
  func group(text: String, group: Principal?) {
    #expect((try? load("access.group = \(text)"))?.access.group == group)
  }

  @Test("log.level accepts each level of swift-log and refuses other words")
  func level() throws {
    for level in LogLevel.allCases {
      #expect(try load("log.level = \"\(level.rawValue)\"").log.level == level)
    }
    #expect(
      message(problems("log.level = \"loud\"")).hasPrefix("must be one of \"trace\", \"debug\""))
  }

  @Test("the configuration keeps the place of each setting for later problems with its value")
  func sources() throws {
    let config = try load("[access]\ngroup = \"staff\"")
    #expect(config.sources["access.group"]?.description == "usherd.toml:2:9")
    #expect(config.sources["log.level"] == nil)
    #expect(
      config.problem("access.group", "there is no such group").description
        == "usherd.toml:2:9: access.group: there is no such group")
    #expect(config == (try load("access.group = \"staff\"")))
  }

  @Test("randomly damaged files are read or refused with a problem, and never trap")
  func damage() {
    let whole = Array((provider + client("{ user = 5 }") + "[limits]\nbatch = 7\n").utf8)
    let alphabet = Array("[]{}=.,\"'#\n\\u0-1e \0\u{7F}".utf8) + [0xC3, 0xFF]
    var state: UInt64 = 42
    func random(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    for _ in 0..<2000 {
      var bytes = whole
      for _ in 0...random(4) {
        let place = random(bytes.count)
        switch random(3) {
        case 0: bytes[place] = alphabet[random(alphabet.count)]
        case 1: bytes.insert(alphabet[random(alphabet.count)], at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + random(20)))
        }
      }
      do throws(ConfigError) {
        let config = try Config.load(contents: [(path: "a", bytes: bytes)])
        #expect((try? load(config.show())) == config)
      } catch {
        #expect(error.problems.allSatisfy { !$0.message.isEmpty && $0.file == "a" })
      }
    }
  }

  @Test("control characters in the text of a problem are replaced")
  func terminal() {
    let found = problems("\"a\\u001b[2J\\u202e\" = 1")
    #expect(found == "usherd.toml:1:1: a\u{FFFD}[2J\u{FFFD}: unknown key")
  }

  @Test("config show prints a file that loads the same, and the JSON form has the same keys")
  func show() throws {
    let text =
      provider + "client_credential = \"c\"\nextra_authorize = { prompt = \"x\\ty\" }\n"
      + "endpoints.token = \"https://t.example\"\nproxy = \"http://[::1]:3128\"\n"
      + client("{ user = 5, unit = \"a.service\" }", allow: "[\"token.get work\"]")
      + "[[target]]\nkind = \"git\"\nmatch = \"https://git.example/*\"\nprovider = \"work\"\n"
      + "[limits]\nbatch = 7\n"
    let config = try load(text.replacing("x\\ty", with: "select_account"))
    #expect(try load(config.show()) == config)
    let json = try JSONEncoder().encode(config)
    #expect(try JSONDecoder().decode(Config.self, from: json) == config)
    let tree = try JSONDecoder().decode(TomlValue.self, from: json)
    guard case .table(let table) = tree else { return #expect(Bool(false)) }
    #expect(Set(table.entries.map(\.key)) == Set(Config.keys.filter { !$0.contains(".") }))
  }
}
