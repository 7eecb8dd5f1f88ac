import FoundationEssentials
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// Compares the SDK's error codes with the table in the documentation.
@Suite("GoPay's error codes GPE-2201 to GPE-2215")
struct GPErrorTests {
  private struct Row {
    let meaning: String
    let reasons: Set<String>
    let isRetryable: Bool
  }

  /// Returns the rows of the documentation's table by error number.
  private func rows() throws -> [Int: Row] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let path = root.appending(path: "Sources/UsherDaemon/Usher.docc/Providers/GoPay.md").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    var rows: [Int: Row] = [:]
    for line in page.split(separator: "\n") where line.hasPrefix("| 22") {
      let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
      guard cells.count == 5, let number = Int(cells[0]) else { continue }
      let reasons = cells[2].split { "`, ".contains($0) }.map { String($0) }
      rows[number] = Row(meaning: cells[1], reasons: Set(reasons), isRetryable: cells[3] == "yes")
    }
    return rows
  }

  @Test(
    "each GPE code of GoPay has its documented meaning and retryability",
    arguments: GoPayErrorCode.allCases)
  func table(error: GoPayErrorCode) throws {
    let rows = try rows()
    #expect(rows.count == GoPayErrorCode.allCases.count)
    let row = try #require(rows[error.rawValue])
    #expect(error.title.lowercased() == row.meaning.lowercased())
    #expect(error.isRetryable == row.isRetryable)
    #expect(row.reasons.contains(error.reason.rawValue))
    let failure = Failure.gopay(error, "why", gopayName)
    #expect(failure.provider?.code == "GPE-\(error.rawValue)")
    #expect(failure.provider?.title == error.title)
    #expect(failure.title == error.title)
    #expect(failure.message == "why")
    #expect(failure.retryable == row.isRetryable)
  }
}

@Suite("Redirects of GoPay's log-in page")
struct GoPayRedirectTests {
  private let state = Secret("00112233445566778899aabbccddeeff")

  private func read(_ query: String, state: Secret? = nil) -> RedirectParseResult {
    RedirectParseResult(
      query: query + "&state=00112233445566778899aabbccddeeff", state: state ?? self.state,
      form: .gopay)
  }

  @Test("a GoPay redirect yields its auth code in both formats of the vendor")
  func code() {
    let ours = RedirectParseResult.accepted(AuthorizationResponse(code: Secret("c/1")))
    for query in [
      "authCode=c%2F1&success=true", "authCode=c%2F1&result=success",
      "authCode=c%2F1&result=success&success=true", "authCode=c%2F1",
    ] {
      #expect(read(query) == ours)
    }
  }

  @Test(
    "a GoPay redirect that reports a failure yields its error and description",
    arguments: [
      ("errorCode=access_denied&errorDesc=No%1B", "access_denied", "No"),
      ("result=abort", "abort", nil), ("result=failure&authCode=", "failure", nil),
      ("success=false", "failure", nil), ("success=", "failure", nil),
      ("errorCode=E1&result=failure", "E1", nil), ("result=success&success=false", "failure", nil),
    ] as [(String, String, String?)])
  func error(query: String, error: String, description: String?) {
    guard case .accepted(let answer) = read(query) else { return #expect(Bool(false), "refused") }
    #expect(answer.error == error)
    #expect(answer.errorDescription == description)
  }

  @Test("GoPay redirects ignore OAuth's parameter names, and OAuth redirects ignore GoPay's")
  func names() {
    #expect(read("code=c&error=access_denied") == .accepted(AuthorizationResponse()))
    let oauth = RedirectParseResult(
      query: "authCode=c&errorCode=e&state=s", state: Secret("s"), form: .oauth)
    #expect(oauth == .accepted(AuthorizationResponse()))
  }

  @Test("a GoPay redirect with another state, or with none, does not belong to the flow")
  func notOurs() {
    #expect(read("authCode=c", state: Secret("00112233445566778899aabbccddeefe")) == .unrelated)
    let none = RedirectParseResult(query: "authCode=c&success=true", state: state, form: .gopay)
    #expect(none == .unrelated)
  }

  @Test("a GoPay redirect with a repeated parameter is refused")
  func twice() {
    guard case .refused = read("authCode=c&authCode=d") else {
      return #expect(Bool(false), "not refused")
    }
  }

  @Test("the pasted URL of a GoPay redirect yields its auth code")
  func pasted() {
    let uri = "http://127.0.0.1:8767/callback"
    let url = Secret(uri + "?authCode=c&success=true&state=00112233445566778899aabbccddeeff")
    let reading = RedirectParseResult(pasted: url, redirectURI: uri, state: state, form: .gopay)
    #expect(reading == .accepted(AuthorizationResponse(code: Secret("c"))))
  }
}
