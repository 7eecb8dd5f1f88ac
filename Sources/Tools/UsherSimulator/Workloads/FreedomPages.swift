import JSONRPC
import UsherSandbox

/// What a person does at the pages of Freedom ID.
enum FreedomPages {
  /// Signs in with password and, if it is switched on, a second factor; returns the next page.
  static func signIn(_ flow: FollowedFlow, _ person: Person, at url: String) async -> Reply {
    let page = await person.press(
      on: await person.host.handle(.get, url),
      [
        ("name", SandboxAccount.email(of: flow.customer)),
        ("password", SandboxAccount.password), ("action", "login"),
      ], to: "/freedomid/login")
    guard page.text.contains("name=\"code\"") else { return page }
    let phone = SandboxAccount.phone(of: flow.customer)
    let code = await person.newestCode(sentTo: phone, by: "freedomid") ?? ""
    return await person.press(
      on: page, [("code", code), ("action", "login")], to: "/freedomid/login")
  }

  /// Signs in, and allows or denies what the partner asks for; returns the address to which Freedom
  /// redirects the browser.
  static func authorize(_ flow: FollowedFlow, _ person: Person) async -> String? {
    let page = await signIn(flow, person, at: flow.step["url"]?.stringValue ?? "")
    let decision = person.decides(on: flow) ? "allow" : "deny"
    return await person.press(on: page, [("decision", decision)], to: "/freedomid/consent")
      .location
  }
}
