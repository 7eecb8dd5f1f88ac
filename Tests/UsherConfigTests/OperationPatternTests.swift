import FoundationEssentials
import Testing
import UsherConfig
import UsherTestKit

@Suite("Patterns of wallet operations")
struct OperationPatternTests {
  private func matches(_ pattern: String, _ operation: String) throws -> Bool {
    try OperationPattern(setting: pattern).matches(operation)
  }

  @Test(
    "an operation pattern's star matches within one path segment, or all segments at the end",
    arguments: [
      ("GET:/wallets", "GET:/wallets", true), ("GET:/wallets", "POST:/wallets", false),
      ("GET:/wallets", "get:/wallets", false), ("GET:/wallets", "GET:/Wallets", false),
      ("GET:/wallets", "GET:/wallets/", false), ("GET:/wallets/", "GET:/wallets/", true),
      ("GET:/wallets/", "GET:/wallets", false), ("GET:/wallets", "GET:/wallet", false),
      ("GET:/wallets", "GET:/walletsx", false), ("GET:/wallets", "GET:/x/wallets", false),
      ("GET:/wallets", "GET:wallets", false), ("GET:/wallets", "GET:", false),
      ("GET:/wallets", "GET", false), ("GET:/wallets", "", false),
      ("GET:/wallets", " GET:/wallets", false), ("GET:/wallets", "GET: /wallets", false),
      ("GET:/", "GET:/", true), ("GET:/", "GET:", false), ("GET:/", "GET:/a", false),
      ("GET:/", "GET://", false), ("GET:/a:b", "GET:/a:b", true), ("GET:/a:b", "GET:/a", false),
      ("PATCH:/a", "PATCH:/a", true), ("PUT:/a", "PUT:/a", true), ("DELETE:/a", "DELETE:/a", true),
      // A star before the end matches any number of characters of one segment, also none.
      ("GET:/wallets/*/payments", "GET:/wallets/7/payments", true),
      ("GET:/wallets/*/payments", "GET:/wallets//payments", true),
      ("GET:/wallets/*/payments", "GET:/wallets/payments", false),
      ("GET:/wallets/*/payments", "GET:/wallets/7/8/payments", false),
      ("GET:/wallets/*/payments", "GET:/wallets/7/payments/8", false),
      ("GET:/wallets/*/payments", "GET:/wallets/7/payments/", false),
      ("GET:/wallets/*/payments", "GET:/wallets/7", false),
      ("GET:/*/payments", "GET:/payments", false), ("GET:/*/a", "GET:/x/a", true),
      ("GET:/w-*-x/a", "GET:/w-1-x/a", true), ("GET:/w-*-x/a", "GET:/w--x/a", true),
      ("GET:/w-*-x/a", "GET:/w-x/a", false), ("GET:/w-*-x/a", "GET:/w-1/2-x/a", false),
      ("GET:/*a*b/c", "GET:/xaybzb/c", true), ("GET:/*a*b/c", "GET:/xaybz/c", false),
      ("GET:/*/*/c", "GET:/a/b/c", true), ("GET:/*/*/c", "GET:/a/c", false),
      ("GET:/a*/b", "GET:/a/b", true), ("GET:/a*/b", "GET:/a1/b", true),
      ("GET:/a*/b", "GET:/a/x/b", false), ("GET:/**/b", "GET:/a/x/b", false),
      ("GET:/*b", "GET:/ab", true), ("GET:/*b", "GET:/a/b", false),
      ("GET:/a/*-x", "GET:/a/7/8-x", false), ("GET:/a/*-x", "GET:/a/7-x", true),
      // A star at the end matches any number of segments.
      ("GET:/wallets/*", "GET:/wallets/7", true), ("GET:/wallets/*", "GET:/wallets/7/", true),
      ("GET:/wallets/*", "GET:/wallets/7/payments/8", true),
      ("GET:/wallets/*", "GET:/wallets/", true), ("GET:/wallets/*", "GET:/wallets", false),
      ("GET:/wallets/*", "GET:/walletsx/7", false), ("GET:/wallets/*", "GET:/x/wallets/7", false),
      ("GET:/wallets/w-*", "GET:/wallets/w-7/payments", true),
      ("GET:/wallets/w-*", "GET:/wallets/x-7/payments", false),
      ("GET:/wallets/w-*", "GET:/wallets/w/w-7", false),
      ("GET:/wallets*", "GET:/wallets", true), ("GET:/wallets*", "GET:/wallets2", true),
      ("GET:/wallets*", "GET:/wallets/7/8", true), ("GET:/wallets*", "GET:/wallet/7", false),
      ("GET:/a/*/c/*", "GET:/a/b/c/d/e", true), ("GET:/a/*/c/*", "GET:/a/b/x/c/d", false),
      ("GET:/*", "GET:/", true), ("GET:/*", "GET:/a/b/c", true), ("GET:/*", "POST:/a", false),
      ("GET:/*", "GET:a/b", false), ("GET:/*", "GET:", false), ("*:/*", "DELETE:/a/b", true),
      ("*:/*", "GET:/", true), ("*:/*", "GET", false), ("*:/*", "", false), ("*:/*", ":/", true),
      ("GET:/**", "GET:/a/b", true),
    ])
  func operations(pattern: String, operation: String, isMatch: Bool) throws {
    #expect(try matches(pattern, operation) == isMatch)
  }

  @Test("operation method * means any method", arguments: OperationPattern.methods + ["HEAD", "*"])
  func anyMethod(method: String) throws {
    #expect(try matches("*:/wallets", "\(method):/wallets"))
    #expect(try !matches("*:/wallets", "\(method):/other"))
  }

  @Test(
    "an operation is matched as written: nothing is percent-decoded or normalised",
    arguments: [
      ("GET:/wallets/7", "GET:/wallets/%37", false), ("GET:/wallets/7", "GET:/%77allets/7", false),
      ("GET:/wallets/7", "GET:/x/../wallets/7", false),
      ("GET:/wallets/7", "GET:/./wallets/7", false),
      ("GET:/wallets/7", "GET:/wallets%2F7", false),
      ("GET:/wallets/*/a", "GET:/wallets%2F7/a", false),
      ("GET:/wallets/*/a", "GET:/wallets/7%2Fa", false), ("GET:/a%20b", "GET:/a b", false),
      ("GET:/a%20b", "GET:/a%20b", true), ("GET:/é", nil, false),
      ("GET:/wallets", "GET:/wallets?", false), ("GET:/wallets", "GET:/wallets?a=b", false),
      ("GET:/wallets/7", "GET:/wallets\u{2215}7", false),
      ("GET:/wallets/*/a", "GET:/wallets/7\u{301}/a", true), ("GET:/e", "GET:/e\u{301}", false),
      ("GET:/wallets/7", "GET:/\u{301}wallets/7", false),
      ("GET:/wallets/7", "GET:\u{301}/wallets/7", false),
    ] as [(String, String?, Bool)])
  func asWritten(pattern: String, operation: String?, isMatch: Bool) throws {
    guard let operation else {
      #expect(throws: SettingError.self) { try OperationPattern(setting: pattern) }
      return
    }
    #expect(try matches(pattern, operation) == isMatch)
  }

  @Test(
    "an operation pattern keeps its text in settings and in JSON",
    arguments: [
      "GET:/", "GET:/wallets", "*:/*", "POST:/wallets/*/payments", "DELETE:/a:b", "PATCH:/a/",
      "PUT:/...", "GET:/.well-known", "GET:/a..b", "GET:/a%20b", "GET:/a;b=c,d@e!$&'()+~",
    ])
  func text(pattern: String) throws {
    let read = try OperationPattern(setting: pattern)
    #expect(read.settingText == pattern)
    let json = try JSONEncoder().encode([read])
    #expect(try JSONDecoder().decode([OperationPattern].self, from: json) == [read])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(OperationPattern.self, from: Data("\"x\"".utf8))
    }
  }

  private static let form =
    "must be \"METHOD:/path\", where METHOD is GET, POST, PUT, PATCH, DELETE or *"
  private static let long = "GET:/" + String(repeating: "a", count: 1024)
  private static let path =
    "must be a path from its first slash, without \".\", \"..\", \"//\" and query"

  @Test(
    "a malformed operation pattern is refused with the reason",
    arguments: [
      ("", form), ("/wallets", form), ("GET", form), ("GET /wallets", form), (":/wallets", form),
      ("get:/wallets", form), ("HEAD:/wallets", form), ("G*:/wallets", form), ("**:/wallets", form),
      ("GET,POST:/wallets", form), (" GET:/wallets", form), ("GET:", path), ("GET:wallets", path),
      ("GET:*", path), ("GET: /wallets", path), ("GET:/wallets?a=b", path), ("GET:/wallets?", path),
      ("GET:/a#b", path), ("GET:/a\\b", path), ("GET://", path), ("GET://host/x", path),
      ("GET:/a//b", path), ("GET:/..", path), ("GET:/../a", path), ("GET:/a/../b", path),
      ("GET:/a/..", path), ("GET:/.", path), ("GET:/a/./b", path), ("GET:/a b", path),
      ("GET:/ä", path), ("GET:/a\u{1}", path), ("GET:https://api.example.com/x", path),
      (long, path),
    ] as [(String, String)])
  func refusals(pattern: String, problem: String) {
    #expect(throws: SettingError(problem)) { try OperationPattern(setting: pattern) }
  }

  @Test("operation patterns with 500 stars match long paths in a minute of computing")
  func time() throws {
    let time = try processorTime {
      let long = String(repeating: "a", count: 200_000)
      let stars = "GET:/" + String(repeating: "*a", count: 500) + "b"
      #expect(try !matches(stars, "GET:/" + long))
      #expect(try matches(stars, "GET:/" + long + "b"))
      let pattern = try OperationPattern(setting: "GET:/*/b")
      let path = "GET:" + String(repeating: "/a", count: 200_000)
      for _ in 0..<20_000 {
        guard !pattern.matches(path) else { return #expect(Bool(false)) }
      }
      #expect(try matches("GET:/*", path))
    }
    #expect(time < .seconds(60))
  }
}
