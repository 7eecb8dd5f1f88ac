import Testing
import UsherHelpers

@Suite("Replies of the daemon to a helper")
struct DaemonReplyTests {
  private let question = TokenQuestion("git", "https://git.example/")

  private static let nested =
    String(repeating: "[", count: 40) + String(repeating: "]", count: 40)

  private static let unreadableLines: [String] = [
    "", "x", "[]", "{}", "null", #"{"jsonrpc":"2.0"}"#,
    #"{"jsonrpc":"2.0","id":2,"result":{"accessToken":"a"}}"#,
    #"{"jsonrpc":"2.0","id":null,"result":{"accessToken":"a"}}"#,
    #"{"jsonrpc":"2.0","id":1,"result":null}"#,
    #"{"jsonrpc":"2.0","id":1,"result":[]}"#,
    #"{"jsonrpc":"2.0","id":1,"error":{}}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
    #"{"jsonrpc":"2.0","method":"events","params":{}}"#,
    String(repeating: "[", count: 1_000_000),
    #"{"jsonrpc":"2.0","id":1,"result":\#(nested)}"#,
  ]

  @Test("a line that is no reply to the call gives no token", arguments: unreadableLines)
  func unreadable(_ line: String) {
    #expect(question.answer(in: Array(line.utf8)) == .failure(.unreadable))
  }

  @Test(
    "a reply whose members are malformed gives no token",
    arguments: [
      "", #""accessToken":null"#, #""accessToken":"""#, #""accessToken":1"#,
      #""accessToken":"a\nb""#, #""accessToken":"a\rb""#, #""accessToken":"a\u0000b""#,
      #""accessToken":"a\u007Fb""#,
      #""accessToken":"\#(String(repeating: "a", count: 65_537))""#,
      #""accessToken":"a","idToken":"b\n""#, #""accessToken":"a","username":"u\nhost=evil""#,
      #""accessToken":"a","username":{}"#, #""accessToken":"a","tokenType":"Bearer\n""#,
      #""accessToken":"a","match":"m\n""#, #""accessToken":"a","expiresAt":1795341600"#,
      #""accessToken":"a","expiresAt":"tomorrow""#,
      #""accessToken":"a","expiresAt":"2026-11-22T10:00:00+00:00""#,
      #""accessToken":"a","expiresAt":"2026-02-29T10:00:00Z""#,
    ])
  func malformed(_ members: String) {
    #expect(Daemon.result(members).answer(to: question) == .failure(.unreadable))
  }

  @Test("a token that is bound to a key is refused")
  func boundToKey() throws {
    let answer = Daemon.token(type: "DPoP").answer(to: question)
    guard case .failure(.unwritable(let line)) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(line.hasPrefix("the provider binds its tokens to a key of usherd (DPoP)"))
  }

  @Test(
    "an expiry is the seconds since 1970",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T23:59:59Z", 951_868_799),
      ("2024-12-31T00:00:00.999Z", 1_735_603_200), ("2026-11-22T10:00:00Z", 1_795_341_600),
      ("2100-03-01T00:00:00Z", 4_107_542_400), ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] as [(String, Int64)])
  func expiry(_ text: String, _ seconds: Int64) throws {
    let token = try Daemon.token(expiresAt: "\"\(text)\"").answer(to: question).get()
    #expect(token.expiry?.seconds == seconds)
    #expect(token.expiry?.text == text)
  }

  @Test("a token does not print")
  func printing() throws {
    let token = try Daemon.token("secret-1").answer(to: question).get()
    #expect("\(token)" == "<token>")
    #expect(String(reflecting: token) == "<token>")
  }

  private static let errors: [(Daemon, String)] = [
    (.noGrant, Line.noGrant), (.deadGrant, Line.deadGrant), (.denied, Line.denied),
    (.noTarget, Line.noTarget),
    (
      .error(-32601, "method_not_found", "no such method"),
      "this usherd has no targets; install the version of usher-helper"
    ),
    (
      .error(1101, "interaction_required", "allow it", more: #","confirmation":"cnf_1""#),
      "allow it; run: usherctl confirm allow cnf_1"
    ),
    (
      consent(#"{"account":"acc_1","grants":["read.email"],"scope":"a b"}"#),
      "more is needed; run: usherctl login work --account acc_1 --grant read.email "
        + #"--params '{"scope":"a b"}'"#
    ),
    (consent("{}", kind: "device"), "more is needed; run: usherctl login work --kind device"),
    (
      consent(#"{"account":"acc_1"}"#, kind: "signUp"),
      "more is needed; run: usherctl flow run work signUp --param account=acc_1"
    ),
    // Values that a shell could interpret are in no command.
    (consent("{}", provider: "work;reboot"), "more is needed"),
    (consent("{}", provider: "--socket"), "more is needed"),
    (consent(#"{"account":"$(id)"}"#), "more is needed"),
    (consent(#"{"grants":["a b"]}"#), "more is needed"),
    (consent(#"{"scope":"it's"}"#), "more is needed"),
    (consent(#"{"scope":"\u202Eevil"}"#), "more is needed"),
    (.error(-32002, "rate_limited", #"a\nb\u001B[2J\u202Ec"#), "a?b?[2J?c"),
    (.error(1, "x", String(repeating: "m", count: 600)), String(repeating: "m", count: 500) + "…"),
    (.error(1, "x", ""), "usherd refuses the request"),
    (.line(#"{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"large"}}"#), "large"),
  ]

  private static func consent(
    _ params: String, provider: String = "work", kind: String = "authorize"
  ) -> Daemon {
    .error(
      1103, "consent_required", "more is needed",
      more: #","next":{"method":"flow.start","params":{"provider":"\#(provider)","#
        + #""kind":"\#(kind)","params":\#(params)}}"#)
  }

  @Test("each error of the daemon becomes one printable line with the command that helps")
  func error() {
    for (daemon, line) in Self.errors {
      guard case .failure(let failure) = daemon.answer(to: question) else {
        Issue.record("a token for \(line)")
        continue
      }
      #expect(failure.line == line)
    }
  }
}
