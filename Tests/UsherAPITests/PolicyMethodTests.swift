import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of the policy on the wire")
struct PolicyMethodTests {
  @Test("policy.check")
  func check() {
    checkWire(PolicyCheck(method: "token.get"), #"{"method":"token.get"}"#)
    checkWire(
      PolicyCheck(
        client: "till", user: "anna", groups: ["tills", "50"], unit: "till.service",
        executable: "/usr/bin/till", method: "flow.start", provider: ProviderName("paysafe"),
        kind: "operation", operation: "GET:/wallets/7", account: AccountID("acc_1"),
        subject: "18233", scope: "openid email", at: "Mon 08:30"),
      """
      {"client":"till","user":"anna","groups":["tills","50"],"unit":"till.service",
       "executable":"/usr/bin/till","method":"flow.start","provider":"paysafe",
       "kind":"operation","operation":"GET:/wallets/7","account":"acc_1","subject":"18233",
       "scope":"openid email","at":"Mon 08:30"}
      """)
    checkWire(
      PolicyCheck.Reply(
        allowed: true, rule: "till", why: "rule till lists it as \"*\"",
        conditions: .init(
          localAuthSeconds: 300, confirmation: true, scopes: ["openid"], fields: ["phone"]),
        client: "till", owner: .client, lenders: ["shop"], confirms: ["kiosk"],
        considered: [
          .init(rule: "till", file: "usherd.toml", line: 12, allows: true, why: "lists it as \"*\"")
        ]),
      #"""
      {"allowed":true,"rule":"till","why":"rule till lists it as \"*\"",
       "conditions":{"localAuthSeconds":300,"confirmation":true,"scopes":["openid"],
                     "fields":["phone"]},
       "client":"till","owner":"client","lenders":["shop"],"confirms":["kiosk"],
       "considered":[{"rule":"till","file":"usherd.toml","line":12,"allows":true,
                      "why":"lists it as \"*\""}]}
      """#)
    checkWire(
      PolicyCheck.Reply(
        allowed: false, rule: "till", why: "rule till is closed", reason: "permission_denied",
        retryAfterMs: 60_000, client: "(user)"),
      """
      {"allowed":false,"rule":"till","why":"rule till is closed","reason":"permission_denied",
       "retryAfterMs":60000,"client":"(user)","owner":"user","lenders":[],"confirms":[],
       "considered":[]}
      """)
    checkWire(PolicyCheck.Conditions(), #"{"confirmation":false}"#)
    checkWire(PolicyCheck.Ownership.allCases, #"["user","client"]"#)
  }

  @Test("policy.list")
  func list() {
    checkWire(PolicyList(), "{}")
    checkWire(
      PolicyList.Reply(
        rules: [
          .init(name: "till", file: "usherd.toml", line: 12, settings: ["allow": ["*"]]),
          .init(name: "kiosk", settings: [:]),
        ], group: "usher"),
      """
      {"rules":[{"name":"till","file":"usherd.toml","line":12,"settings":{"allow":["*"]}},
                {"name":"kiosk","settings":{}}],"group":"usher"}
      """)
  }
}
