import FoundationEssentials
import Glibc
import JSONRPC
import Testing
import UsherCommands
import UsherConfig
import UsherCore
import UsherTestKit

/// The folders of oidc-agent in both formats, and what else can be in their place.
@Suite("usherctl import oidc-agent")
struct ImportTests {
  private let place: TemporaryDirectory

  init() throws {
    place = try TemporaryDirectory()
    for folder in ["agent/issuer.config.d", "system", "home"] {
      try FileManager.default.createDirectory(
        atPath: place.file(folder), withIntermediateDirectories: true)
    }
  }

  /// The format of version 5: JSON, with the accounts of each issuer.
  private static let json = """
    [
      {
        "issuer": "https://aai.egi.example/auth/realms/egi", "accounts": ["egi", "egi-test"],
        "default_account": "egi",
        "pubclient": {"client_id": "oidc-agent", "scope": "openid profile offline_access"}
      },
      {"issuer": "https://unused.example/", "pubclient": {"client_id": "x"}},
      {"issuer": "https://plain.example/", "accounts": ["My Mail"], "legacy_aud_mode": true,
        "user_client": {"client_id": "mine", "client_secret": "s3cret-mine",
          "redirect_uris": ["edu.kit.data.oidc-agent:/redirect", "http://localhost:8080/cb"]}},
      {"issuer": "https://unknown.example", "accounts": ["work"]},
      {"issuer": "https://oauth.example", "accounts": ["o"], "oauth": 1,
        "pubclient": {"client_id": "y"}}
    ]
    """

  private func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: place.file(name)))
  }

  private func run(_ more: String = "", file: String = "home/usherd.toml") async -> Outcome {
    await usherctl(
      "import oidc-agent \(place.file("agent")) --system-folder \(place.file("system")) "
        + "--config \(place.file(file)) \(more)")
  }

  private func config(_ name: String = "home/usherd.toml") throws -> Config {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: place.file(name))))
    return try Config.load(contents: [(path: name, bytes: bytes)])
  }

  private func settings(_ config: Config, _ provider: String) throws -> OIDCSettings {
    let found = try #require(config.providers.first { $0.name.rawValue == provider })
    return try #require(found.settings.view(as: OIDCSettings.self))
  }

  @Test("the issuers of version 5 with an account become providers, and the next steps are named")
  func version5() async throws {
    try write(Self.json, "agent/issuer.config")
    for name in ["egi", "egi-test", "My Mail", "work", "lonely"] {
      try write("encrypted", "agent/\(name)")
    }
    let outcome = await run("--write")
    #expect(outcome.status == 0, "\(outcome.error)")
    let config = try config()
    #expect(config.providers.map(\.name.rawValue) == ["egi", "my-mail"])
    let egi = try settings(config, "egi")
    #expect(egi.issuer.text == "https://aai.egi.example/auth/realms/egi")
    #expect(egi.clientID == "oidc-agent" && egi.scopes == ["openid", "profile", "offline_access"])
    #expect(egi.redirect.settingText == "http://localhost:4242")
    #expect(egi.audienceParameter == .resource)
    let mail = try settings(config, "my-mail")
    #expect(mail.clientID == "mine" && mail.audienceParameter == .audience)
    #expect(mail.redirect.settingText == "http://localhost:8080/cb")
    for line in [
      "usherctl reload", "usherctl provider check egi", "usherctl login egi",
      "usherctl credential set my-mail-client-secret", "oidc-add egi-test", "lonely",
      "https://unknown.example has no public client", "https://oauth.example is no OpenID provider",
    ] {
      #expect(outcome.error.contains(line), "\(line) is not in:\n\(outcome.error)")
    }
    #expect(!outcome.error.contains("unused.example"))
    #expect(!(outcome.output + outcome.error).contains("s3cret"))
  }

  @Test("the lines of earlier versions become providers, with the public clients of the machine")
  func version4() async throws {
    try write(
      "https://aai.egi.example/oidc egi\nhttps://iam.example/\n\n",
      "agent/issuer.config")
    try write(
      """
      # comment
      oidc-agent@https://aai.egi.example/oidc/
      70806df4:s3cret-public@https://iam.example/@address openid offline_access
      other@https://iam.example/

      """, "system/pubclients.config")
    try write("https://aai.egi.example/oidc/ https://aai.egi.example/new", "system/issuer.config")
    let outcome = await run("--write")
    #expect(outcome.status == 0, "\(outcome.error)")
    let config = try config()
    #expect(config.providers.map(\.name.rawValue) == ["egi"])
    let all = await run("--write --all")
    #expect(all.status == 0, "\(all.error)")
    #expect(all.error.contains("is configured already, as provider egi"))
    let iam = try settings(try self.config(), "iam.example")
    #expect(iam.clientID == "70806df4" && iam.clientCredential == "iam.example-client-secret")
    #expect(iam.scopes == ["address", "openid", "offline_access"])
    #expect(!(all.output + all.error).contains("s3cret"))
  }

  @Test("without --write nothing is written, and the tables are printed")
  func printed() async throws {
    try write(Self.json, "agent/issuer.config")
    let outcome = await run()
    #expect(outcome.status == 0)
    #expect(!FileManager.default.fileExists(atPath: place.file("home/usherd.toml")))
    let config = try Config.load(files: [(path: "printed", text: outcome.output)])
    #expect(config.providers.count == 2)
    let json = try JSONValue(parsing: await run("--json").output)
    #expect(json["providers"]?[0]?["name"] == "egi")
    let printed = json["toml"]?.stringValue ?? ""
    #expect(!printed.isEmpty && outcome.output.hasPrefix(printed))
  }

  @Test("the present configuration stays, with its mode, and no provider is added twice")
  func appended() async throws {
    try write(Self.json, "agent/issuer.config")
    let present = "[limits]\nlive_flows_per_user = 7"
    try write(present, "home/usherd.toml")
    #expect(chmod(place.file("home/usherd.toml"), 0o640) == 0)
    #expect(await run("--write").status == 0)
    let bytes = try Data(contentsOf: URL(filePath: place.file("home/usherd.toml")))
    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(present + "\n\n[[provider]]"))
    var status = stat()
    #expect(stat(place.file("home/usherd.toml"), &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o640)
    let again = await run("--write")
    #expect(again.status == 0 && again.error.contains("nothing to import"))
    #expect(try Data(contentsOf: URL(filePath: place.file("home/usherd.toml"))) == bytes)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.file("home"))
    #expect(names == ["usherd.toml"])
  }

  @Test("a name that the configuration has already gets a number")
  func sameName() async throws {
    try write(Self.json, "agent/issuer.config")
    try write(
      """
      [[provider]]
      name = "egi"
      type = "oidc"
      issuer = "https://another.example"
      client_id = "usher"

      """, "home/usherd.toml")
    #expect(await run("--write").status == 0)
    #expect(try config().providers.map(\.name.rawValue) == ["egi", "egi-2", "my-mail"])
  }

  @Test("two issuers with accounts of the same name become providers of two names")
  func sameAccountName() async throws {
    try write(
      """
      [{"issuer": "https://a.example", "accounts": ["same"], "pubclient": {"client_id": "a"}},
       {"issuer": "https://b.example", "accounts": ["same"], "pubclient": {"client_id": "b"}}]
      """, "agent/issuer.config")
    #expect(await run("--write").status == 0)
    #expect(try config().providers.map(\.name.rawValue) == ["same", "same-2"])
  }

  @Test("a present configuration with an error is not changed, and the error is reported")
  func wrongConfiguration() async throws {
    try write(Self.json, "agent/issuer.config")
    try write("nonsense = 1\n", "home/usherd.toml")
    let outcome = await run("--write")
    #expect(outcome.status == 1 && outcome.error.contains("nonsense"))
    let bytes = try Data(contentsOf: URL(filePath: place.file("home/usherd.toml")))
    #expect(String(decoding: bytes, as: UTF8.self) == "nonsense = 1\n")
  }

  @Test("the configuration is created with its folder")
  func created() async throws {
    try write(Self.json, "agent/issuer.config")
    #expect(await run("--write", file: "home/.config/usherd/usherd.toml").status == 0)
    #expect(try config("home/.config/usherd/usherd.toml").providers.count == 2)
  }

  @Test("files that are too long, not UTF-8, not JSON or symbolic links are left out by name")
  func odd() async throws {
    try write(Self.json, "agent/issuer.config")
    let parts = "agent/issuer.config.d"
    try write(String(repeating: "[", count: 1 << 20) + "]", "\(parts)/long")
    try Data([0x5B, 0xFF, 0xFE, 0x5D]).write(to: URL(filePath: place.file("\(parts)/bytes")))
    try write("{\"issuer\": ", "\(parts)/cut")
    try write("[1, {\"client_id\": \"x\"}, {\"issuer\": 7}]", "\(parts)/other")
    try write(String(repeating: "[", count: 100_000), "\(parts)/deep")
    try write("{\"issuer\": \"https://linked.example\", \"accounts\": [\"l\"]}", "secret")
    #expect(symlink(place.file("secret"), place.file("\(parts)/link")) == 0)
    #expect(mkfifo(place.file("\(parts)/pipe"), 0o600) == 0)
    #expect(symlink("/etc/passwd", place.file("agent/account-link")) == 0)
    let outcome = await run()
    #expect(outcome.status == 0)
    for name in ["long", "bytes", "cut", "other", "deep", "link", "pipe"] {
      #expect(
        outcome.error.split(separator: "\n").contains {
          $0.contains("\(parts)/\(name)") && $0.contains("left out")
        }, "\(name) is not in:\n\(outcome.error)")
    }
    #expect(!outcome.error.contains("linked.example") && !outcome.error.contains("account-link"))
    #expect(try Config.load(files: [(path: "", text: outcome.output)]).providers.count == 2)
  }

  @Test("of a file with very many issuers the first thousand are taken, and a warning says so")
  func manyIssuers() async throws {
    let lines = (1...1001).map { "https://id.example/\($0) name\($0)" }
    try write(lines.joined(separator: "\n"), "agent/issuer.config")
    try write(
      "first@https://id.example/1\nlast@https://id.example/1000/\nno@https://id.example/1001\n",
      "system/pubclients.config")
    let outcome = await run()
    #expect(outcome.status == 0)
    #expect(outcome.error.contains("more than 1000 issuers"))
    let config = try Config.load(files: [(path: "", text: outcome.output)])
    #expect(config.providers.map(\.name.rawValue) == ["name1", "name1000"])
  }

  @Test("values that could end the TOML text or the line are only text")
  func hostile() async throws {
    try write(
      #"""
      [{"issuer": "https://id.example/x\"\n[access]", "accounts": ["a\u001b[2J"],
        "pubclient": {"client_id": "c\"\nclient_secret = \"x"}},
       {"issuer": "https://id.example", "accounts": ["a\u001b[2J\nusherctl"],
        "pubclient": {"client_id": "c\"]\n[[client]]\nname = \"all"}},
       {"issuer": "http://id.example", "accounts": ["b"], "pubclient": {"client_id": "c"}},
       {"issuer": "file:///etc/passwd", "accounts": ["b"], "pubclient": {"client_id": "c"}}]
      """#, "agent/issuer.config")
    let outcome = await run()
    #expect(outcome.status == 0)
    let config = try Config.load(files: [(path: "", text: outcome.output)])
    #expect(config.clients.isEmpty && config.providers.count <= 1)
    #expect(!(outcome.output + outcome.error).contains("\u{1B}"))
    #expect(outcome.error.contains("has settings that usherd does not accept"))
  }

  @Test("a folder that does not exist is reported, with what to do")
  func missing() async throws {
    let outcome = await usherctl("import oidc-agent \(place.file("nowhere"))")
    #expect(outcome.status == 1 && outcome.error.contains("usherctl import oidc-agent DIR"))
    let none = await usherctl(
      "import oidc-agent", environment: ["HOME": place.file("home")])
    #expect(none.status == 1 && none.error.contains("oidc-agent has no folder in"))
  }

  @Test("the usual folder is found, the newer one first")
  func usual() async throws {
    try FileManager.default.createDirectory(
      atPath: place.file("home/.oidc-agent"), withIntermediateDirectories: true)
    try write(Self.json, "home/.oidc-agent/issuer.config")
    let line = "import oidc-agent --json --system-folder \(place.file("system"))"
    let old = await usherctl(line, environment: ["HOME": place.file("home")])
    #expect(try JSONValue(parsing: old.output)["providers"]?.arrayValue?.count == 2)
    try FileManager.default.createDirectory(
      atPath: place.file("home/.config/oidc-agent"), withIntermediateDirectories: true)
    let new = await usherctl(line, environment: ["HOME": place.file("home")])
    #expect(try JSONValue(parsing: new.output)["providers"]?.arrayValue?.count == 0)
  }
}
