import Testing
import UsherConfig
import UsherCore

@Suite("Targets in the configuration")
struct TargetConfigTests {
  @Test("a target keeps every setting, and the configuration that is shown reads back as the same")
  func settings() throws {
    let text =
      provider + """
        [[target]]
        kind = "git"
        match = "https://git.example/*"
        provider = "work"
        scope = "read write"
        audience = "https://git.example"
        username = "oauth2"
        [[target]]
        kind = "oidc-agent"
        match = "work"
        account = "acc_1bt7xq"
        field = "idToken"
        """
    let config = try load(text)
    let git = try #require(config.targets.first)
    #expect(git.text == "git/https://git.example/*" && git.provider == ProviderName("work"))
    #expect(git.scope == "read write" && git.audience == "https://git.example")
    #expect(git.username == "oauth2" && git.field == .accessToken && git.tokenKind == nil)
    let agent = try #require(config.targets.last)
    #expect(agent.account == AccountID("acc_1bt7xq") && agent.provider == nil)
    #expect(agent.tokenKind == "idToken" && agent.tokenScope == "openid")
    #expect(try load(config.show()) == config)
  }

  /// Lines of a target, apart from its `kind` and `match`, and the problem with them.
  private static let wrongLines: [(lines: String, problem: String)] = [
    ("", "a target needs either provider or account"),
    (
      "provider = \"work\"\naccount = \"acc_1\"", "a target needs either provider or account"
    ),
    ("provider = \"wrok\"", "provider \"wrok\" is not defined; did you mean work?"),
    ("provider = \"local\"", "provider \"local\" is not defined"),
    ("account = \"work\"", "must be an account's id, \"acc_…\""),
    (
      "provider = \"work\"\nfield = \"idToken\"\nscope = \"openid\"",
      "must be absent: an ID token has no scope that can be chosen"
    ),
    (
      "provider = \"work\"\nfield = \"idToken\"\naudience = \"b\"",
      "must be absent: an ID token has no audience that can be chosen"
    ),
    (
      "provider = \"work\"\nfield = \"id_token\"",
      "must be one of \"accessToken\", \"idToken\""
    ),
    ("provider = \"work\"\nscope = \"a  b\"", "must be scopes with one space between them"),
    ("provider = \"work\"\nscope = \"\"", "must be scopes with one space between them"),
    ("provider = \"work\"\naudience = \"\"", "must be the audience of a token"),
    (
      "provider = \"work\"\nusername = \"a:b\"",
      "must be up to 256 bytes of printable ASCII without spaces and colons"
    ),
    (
      "provider = \"work\"\nusername = \"a\\nb\"",
      "must be up to 256 bytes of printable ASCII without spaces and colons"
    ),
    (
      "provider = \"work\"\nusername = \"<token>\"", "must be another name than \"<token>\""
    ),
    ("provider = \"work\"\nhost = \"b\"", "unknown key"),
  ]

  @Test("a wrong setting of a target is a problem with its line", arguments: wrongLines)
  func wrong(lines: String, problem: String) {
    let found = problems(provider + target("git", "a", answer: lines))
    #expect(message(found) == problem, "\(found)")
    #expect(found.hasPrefix("usherd.toml:") && found.contains("target[0]"))
  }

  @Test("a kind that is no word is a problem with its line", arguments: ["Git", "", "-git", "g.t"])
  func kinds(kind: String) {
    let found = problems(provider + target(kind, "a"))
    #expect(message(found) == "must be up to 32 of a-z 0-9 - and begin with a letter")
    #expect(found.contains("target[0].kind"))
  }

  @Test("the first target in the order of the files answers")
  func order() throws {
    let config = try Config.load(files: [
      ("usherd.toml", provider + target("git", "https://git.example/team/*")),
      (
        "conf.d/10.toml",
        target("git", "https://git.example/*", answer: "account = \"acc_1\"")
          + target("git", "https://git.example/team/app")
      ),
    ])
    func answer(_ path: String) throws -> String? {
      config.target(for: try TargetName(kind: "git", name: "https://git.example/\(path)"))?.text
    }
    #expect(try answer("team/app") == "git/https://git.example/team/*")
    #expect(try answer("other") == "git/https://git.example/*")
    #expect(
      config.target(for: try TargetName(kind: "git", name: "https://git.example.evil/x")) == nil)
  }

  @Test(
    "a target whose names an earlier one of its kind answers is a warning with its line, not a problem",
    arguments: [
      ("https://git.example/*", "https://git.example/team/*", true),
      ("https://git.example/*", "https://git.example/*", true),
      ("https://git.example/*", "https://git.example", true),
      ("https://git.example/team/*", "https://git.example/*", false),
      ("https://git.example/team*", "https://git.example/team/*", false),
      ("https://git.example/*/app", "https://git.example/team/app", true),
      ("https://git.example/*/app", "https://git.example/*/app*", false),
      ("https://git.example/*", "https://git.example:8443/*", false),
      ("https://*.git.example/*", "https://eu.git.example/a", true),
      ("https://eu.git.example/*", "https://*.git.example/*", false),
      ("https://*.git.example/*", "https://*.git.example/a", true),
      ("*.example", "a.example", true), ("*.example", "*.eu.example", true),
      ("a*", "*", false), ("*", "a*b", true), ("*", "a/b", false),
    ])
  func unreachable(first: String, second: String, isWarning: Bool) throws {
    let config = try load(provider + target("git", first) + target("git", second))
    let warnings = config.warnings.map(\.description)
    #expect(
      warnings
        == (isWarning
          ? [
            "usherd.toml:12:9: target[1].match: never answers: an earlier target at "
              + "usherd.toml:6:1 answers all of its names; put the more specific target first"
          ] : []))
    let others = try load(provider + target("git", first) + target("docker", second))
    #expect(others.warnings == [])
  }

  @Test("more than a thousand targets are a problem")
  func many() {
    let targets = (0...1000).map { target("git", "a\($0)") }.joined()
    #expect(problems(provider + targets).contains("target: must be at most 1000 targets"))
  }
}
