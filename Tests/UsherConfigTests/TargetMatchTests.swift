import Testing
import UsherConfig
import UsherCore

@Suite("Patterns of targets, and the names that tools ask for")
struct TargetMatchTests {
  private func matches(_ pattern: String, _ name: String) throws -> Bool {
    let match = try TargetMatch(setting: pattern)
    return match.matches(try TargetName(kind: "git", name: name))
  }

  @Test(
    "a pattern for URLs matches scheme, host and port exactly, and the path segment by segment",
    arguments: [
      ("https://git.example/*", "https://git.example", true),
      ("https://git.example/*", "https://git.example/", true),
      ("https://git.example/*", "https://git.example/team/app.git", true),
      ("https://git.example/*", "HTTPS://GIT.Example/team", true),
      ("https://git.example/*", "https://git.example:443/team", true),
      ("https://git.example:443/*", "https://git.example/team", true),
      ("https://GIT.example/*", "https://git.example/team", true),
      ("https://git.example/*", "https://git.example/team?a=b", true),
      ("https://git.example:8443/*", "https://git.example:8443/a", true),
      ("https://git.example:8443/*", "https://git.example/a", false),
      ("https://git.example", "https://git.example/", true),
      ("https://git.example", "https://git.example/team", false),
      ("https://git.example/team/*", "https://git.example/team/app.git", true),
      ("https://git.example/team/*", "https://git.example/team/", true),
      ("https://git.example/team/*", "https://git.example/team", false),
      ("https://git.example/team/*", "https://git.example/team2/app", false),
      ("https://git.example/team/*", "https://git.example/Team/app", false),
      ("https://git.example/team*", "https://git.example/team2", true),
      ("https://git.example/team*", "https://git.example/team2/app", false),
      ("https://git.example/*/app", "https://git.example/team/app", true),
      ("https://git.example/*/app", "https://git.example/a/b/app", false),
      ("https://git.example/t%c3%a9/*", "https://git.example/t%C3%A9/x", true),
      ("https://*.git.example/*", "https://eu.git.example/a", true),
      ("https://*.git.example/*", "https://git.example/a", false),
      ("https://*.git.example/*", "https://a.b.git.example/a", false),
      ("https://*.git.example/*", "https://git.example.evil/eu.git.example/", false),
      ("https://[::1]:8080/*", "https://[::1]:8080/a", true),
      ("http://localhost:3000/*", "http://LOCALHOST:3000/a", true),
      ("sparse+https://index.example/*", "sparse+https://index.example/a", true),
      ("sparse+https://index.example/*", "https://index.example/a", false),
    ])
  func urls(pattern: String, name: String, isMatch: Bool) throws {
    #expect(try matches(pattern, name) == isMatch)
  }

  /// Names with which a program could be given the token of another service, or a tool be led to
  /// send it there.
  @Test(
    "no name of another service or in another spelling matches https://git.example/team/*",
    arguments: [
      "https://git.example.evil/team/app", "https://evil.git.example/team/app",
      "https://xgit.example/team/app", "https://evil/git.example/team/app",
      "https://evil/https://git.example/team/app", "https://user@evil/team/app",
      "https://git.example@evil/team/app", "https://git.example:x@evil/team/app",
      "https://user@git.example/team/app", "https://git.example:8443/team/app",
      "https://git.example:/team/app", "https://git.example:0/team/app",
      "https://git.example:65979/team/app", "http://git.example/team/app",
      "http://git.example:443/team/app", "ssh://git.example/team/app",
      "https:/git.example/team/app", "https:///git.example/team/app",
      "https:\\\\git.example\\team\\app", "https://git.example\\@evil/team/app",
      "https://evil\\git.example/team/app", "https://evil#git.example/team/app",
      "https://evil#@git.example/team/app", "https://evil?git.example/team/app",
      "https://evil?@git.example/team/app", "https://git.example./team/app",
      "https://git..example/team/app", "https://.git.example/team/app",
      "https://git.example/team/../other/app", "https://git.example/team/..",
      "https://git.example/team/./app", "https://git.example/team/..;/other/app",
      "https://git.example/team/%2e%2e/other", "https://git.example/team/%2E./other",
      "https://git.example/team/..%2fother", "https://git.example/team/%5c..%5cother",
      "https://git.example/team/..%3b/other", "https://git.example/team/.%3Ba/other",
      "https://git.example/team/%c0%ae%c0%ae/other", "https://git.example/team/%E0%80%AE./other",
      "https://git.example/team%E9/app", "https://git.example/team/%252e%252e/other",
      "https://git.example/%74eam/app",
      "https://git.example/team%2Fapp", "https://git.example//team/app",
      "https://git.example/team//app", "https://git.example/team/app%",
      "https://git.example/team/%0aHost:evil", "https://git.example/team/%00",
      "https://git.example/team/%zz", "https://git.example/team/%+1",
      "https://git.example/team/app\r\nhost=evil", "https://git.example/team/app\u{0}",
      "https://git.example/team/a b", "https://gıt.example/team/app",
      "https://git.exämple/team/app", "https://git.example/team/ä",
      "https://git\u{3002}example/team/app", "https://ｇit.example/team/app",
      "https://xn--gt-jia.example/team/app", "https://%67it.example/team/app",
      "https://git.example", "git.example/team/app", "//git.example/team/app", "", "://",
      "://git.example/team/app", "1https://git.example/team/app",
    ])
  func hostile(name: String) {
    #expect((try? matches("https://git.example/team/*", name)) != true)
  }

  @Test(
    "names in which a server could read another path or host are refused, naming the parameter",
    arguments: [
      "https://user@evil/", "https://git.example/a/../b", "https://git.example/a/%2e%2e/b",
      "https://git.example/a//b", "https://git.example/%41",
      "https://git.example/..%3B/b", "https://git.example/%C0%AE%C0%AE/b",
      "https://git.example/a#b",
      "https://git.exämple/a", "https://git.example./a", "a b", "a/../b", "", "ä",
      "*", "till.service/*",
      String(repeating: "a", count: 1025),
      "https://git.example/" + String(repeating: "a", count: 2048),
    ])
  func refused(name: String) {
    let error = #expect(throws: UsherError.self) { try TargetName(kind: "git", name: name) }
    #expect(error?.reason == .invalidParams && error?.detail.field == "name")
  }

  @Test(
    "in a name that is no URL, the star of a pattern stands for any characters but a slash",
    arguments: [
      ("ghcr.io", "ghcr.io", true), ("ghcr.io", "GHCR.io", false),
      ("ghcr.io", "ghcr.io.evil", false), ("ghcr.io", "ghcr.io/x", false),
      ("ghcr.io", "https://ghcr.io", false), ("https://ghcr.io/*", "ghcr.io", false),
      ("*.registry.example", "eu.registry.example", true),
      ("*.registry.example", "evil/eu.registry.example", false),
      ("*.registry.example", "registry.example", false),
      ("registry.example:5000", "registry.example", false),
      ("till.service/*", "till.service/api-token", true),
      ("till.service/*", "till.service/a/b", false),
      ("till.service/*", "till@1.service/api-token", false),
      ("*/api-token", "till.service/api-token", true), ("*", "ghcr.io", true),
      ("*", "till.service/api-token", false), ("*", "https://git.example", false),
      ("till\\x2d1.service/a", "till\\x2d1.service/a", true),
    ])
  func plain(pattern: String, name: String, isMatch: Bool) throws {
    #expect(try matches(pattern, name) == isMatch)
  }

  @Test("a target answers only names of its own kind")
  func kinds() throws {
    let pattern = try TargetPattern(setting: "git/https://git.example/*")
    let config = try load(provider + target("git", "https://git.example/*"))
    for (kind, isMatch) in [("git", true), ("docker", false), ("gi", false)] {
      let name = try TargetName(kind: kind, name: "https://git.example/a")
      #expect((config.target(for: name) != nil) == isMatch)
      #expect(try AccessPattern(setting: "token.forTarget git").allows(.about(name)) == isMatch)
    }
    #expect(pattern.settingText == "git/https://git.example/*")
  }

  @Test(
    "patterns that could match another host than the author sees are refused",
    arguments: [
      ("https://*/a", "has no valid host and port"),
      ("https://*.com/*", "must have two labels of the host after \"*.\""),
      ("https://git.*.example/*", "has no valid host and port"),
      ("https://git.example:*/*", "has no valid host and port"),
      ("https://user@git.example/*", "must have no user name or password"),
      ("https://git.example/*?a=b", "must have no query"),
      ("https://git.example/a/../*", "must have no segment \".\" or \"..\" in its path"),
      ("http://git.example/*", "must be https; http is for loopback hosts only"),
      ("*://git.example/*", "has a scheme that a URL cannot have"),
      ("a b", "must be up to 1024 bytes of printable ASCII without spaces"),
      ("", "must be up to 1024 bytes of printable ASCII without spaces"),
    ])
  func patterns(text: String, problem: String) {
    let error = #expect(throws: SettingError.self) { try TargetMatch(setting: text) }
    #expect(error?.message == problem)
  }

  @Test("the suggested pattern covers the host of a URL, and exactly a name that is no URL")
  func suggestions() throws {
    let url = try TargetName(kind: "git", name: "HTTPS://Git.example:8443/team/app.git?x")
    #expect(url.suggestedMatch == "https://git.example:8443/*")
    #expect(url.text == "git/https://git.example:8443/team/app.git")
    let unit = try TargetName(kind: "unit", name: "till.service/api-token")
    #expect(unit.suggestedMatch == "till.service/api-token")
    for name in [url, unit] {
      #expect(try TargetMatch(setting: name.suggestedMatch).matches(name))
    }
  }
}

/// Returns a valid target for the provider `work`, to which a test adds one line.
func target(_ kind: String, _ match: String, answer: String = "provider = \"work\"") -> String {
  "[[target]]\nkind = \"\(kind)\"\nmatch = \"\(match)\"\n\(answer)\n"
}

extension PolicyRequest {
  /// The call of `token.forTarget` for a name.
  static func about(_ name: TargetName) -> PolicyRequest {
    var request = PolicyRequest(method: "token.forTarget")
    request.target = name
    return request
  }
}
