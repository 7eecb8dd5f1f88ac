import Foundation
import JSONRPC
import UsherTestKit

/// A visit to a provider's pages with headless Chromium.
enum Browser {
  enum Pages: String { case sandbox, paysafe, redirect, gopay, capture, freedom, bsa, glewlwyd }
  enum Decision: String { case allow, deny }

  /// The page that the browser shows at the end.
  struct Page {
    var title: String
    var text: String
    /// The URL without its query.
    var url: String
  }

  /// Signs in as `alice`, and allows or denies.
  ///
  /// - Parameter userCode: The user code of a device flow, or the user key at the BSA site.
  static func visit(
    _ url: String, _ pages: Pages, _ decision: Decision = .allow, userCode: String? = nil
  ) throws -> Page {
    try page(
      from: [Peers.script("browser.py"), pages.rawValue, url, decision.rawValue]
        + (userCode.map { [$0] } ?? []))
  }

  /// Runs a Python script that visits pages, and returns the last page, which the script prints.
  static func page(from script: [String]) throws -> Page {
    let visit = try run(Peers.python, script, within: 120)
    guard visit.status == 0 else { throw TestError("the browser failed: \(visit.errors)") }
    let shown = try JSONValue(parsing: Array(visit.output.utf8))
    return Page(
      title: shown["title"]?.stringValue ?? "", text: shown["text"]?.stringValue ?? "",
      url: shown["url"]?.stringValue ?? "")
  }
}

extension RawClient {
  /// Runs an `authorize` flow to its end, with a browser that follows the redirect.
  func signIn(
    _ provider: String, at pages: Browser.Pages, _ decision: Browser.Decision = .allow,
    params: JSONValue = [:]
  ) throws -> (end: JSONValue, page: Browser.Page) {
    try signIn(provider, params: params) { try Browser.visit($0, pages, decision) }
  }

  /// Runs a flow with a page to its end; the closure visits the page.
  func signIn(
    _ provider: String, _ kind: String = "authorize", params: JSONValue = [:],
    visit: (String) throws -> Browser.Page
  ) throws -> (end: JSONValue, page: Browser.Page) {
    let flow = try startFlow(provider, kind, params: params)
    guard let url = flow["step"]?["url"]?.stringValue else {
      throw TestError(
        "the flow has no page to open: \(String(decoding: flow.encoded(), as: UTF8.self))")
    }
    let page = try visit(url)
    return (try finished(flow), page)
  }

  /// Runs a `device` flow to its end.
  func signInOnDevice(
    _ provider: String, at pages: Browser.Pages
  ) throws -> (end: JSONValue, page: Browser.Page) {
    let flow = try startFlow(provider, "device")
    guard let step = flow["step"], let url = step["verificationURI"]?.stringValue,
      let code = step["userCode"]?.stringValue
    else {
      throw TestError(
        "the flow shows no user code: \(String(decoding: flow.encoded(), as: UTF8.self))")
    }
    let page = try Browser.visit(url, pages, userCode: code)
    return (try finished(flow), page)
  }

  /// Returns the access token of a provider's only account.
  func accessToken(_ provider: String, forced: Bool = false) throws -> String {
    let reply = try call(
      "token.get", ["provider": .string(provider), "forceRefresh": .bool(forced)])
    return reply["accessToken"]?.stringValue ?? ""
  }
}
