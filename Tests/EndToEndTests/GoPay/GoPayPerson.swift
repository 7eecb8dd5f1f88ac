import Foundation
import JSONRPC
import UsherTestKit

/// A person at GoPay's log-in pages, without a browser: reads each form and submits it.
enum GoPayPerson {
  static let phone = "+447700900123"
  static let pin = "2468"

  /// Logs in by phone number, code and PIN, and returns the URL that GoPay redirects to.
  static func decide(at url: String, _ sandbox: SandboxUnderTest) throws -> String {
    var page = try Web.get(url)
    page = try fill(page, ["phone": phone], sandbox)
    let sent = try sandbox.control("GET", "outbox?provider=gopay")["messages"]?[0]
    page = try fill(page, ["otp": sent?["code"]?.stringValue ?? ""], sandbox)
    return try way(back: fill(page, ["pin": pin], sandbox))
  }

  /// Presses a button of the first page, `deny` or `cancel`; returns the URL that GoPay redirects
  /// to.
  static func giveUp(at url: String, _ button: String, _ sandbox: SandboxUnderTest) throws -> String
  {
    try way(back: fill(Web.get(url), ["action": button], sandbox))
  }

  /// Logs in and follows the redirect to the daemon's listener.
  @discardableResult
  static func logIn(at url: String, _ sandbox: SandboxUnderTest) throws -> Web.Reply {
    try Web.get(decide(at: url, sandbox))
  }

  private static func fill(
    _ page: Web.Reply, _ fields: [String: String], _ sandbox: SandboxUnderTest
  ) throws -> Web.Reply {
    var form = ["action": "next"].merging(fields) { $1 }
    for match in page.text.matches(of: /name="(transaction|csrf)" value="([^"]*)"/) {
      form[String(match.1)] = String(match.2)
    }
    guard form["transaction"] != nil else { throw TestError("the page has no form: \(page.text)") }
    return try Web.post("\(sandbox.base)/gopay/snap/login", form: form)
  }

  private static func way(back reply: Web.Reply) throws -> String {
    guard let back = reply.location else {
      throw TestError("GoPay did not redirect: \(reply.status) \(reply.text)")
    }
    return back
  }
}

/// A client that is subscribed to events about verdicts.
struct GoPayListener {
  private let client: RawClient

  init(_ app: RawClient) throws {
    client = app
    _ = try client.call("events.subscribe", ["topics": ["kyc"]])
  }

  /// Returns the events' `what`, up to a given one.
  @discardableResult
  func verdicts(until word: String) throws -> [String] {
    var told: [String] = []
    while let event = try client.receive()?["params"]?["event"] {
      told.append(event["what"]?.stringValue ?? "")
      if told.last == word { return told }
    }
    throw TestError("the connection was closed before the event \(word); received: \(told)")
  }
}

extension JSONValue {
  var completes: String? { self["step"]?["completes"]?.stringValue }

  /// The auth code that the step shows.
  var authCode: String { self["step"]?["credential"]?["code"]?.stringValue ?? "" }

  var submissionID: String { self["result"]?["submissionId"]?.stringValue ?? "" }

  /// The `reason` of the problem, the SDK's code and the server's own.
  var problem: [String?] { errorCodes(of: "problem") }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
