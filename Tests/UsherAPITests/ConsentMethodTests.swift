import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of consents and clients on the wire")
struct ConsentMethodTests {
  private let freedom = ProviderName("freedom")
  private let ada = AccountID("acc_1")

  @Test("consent.list")
  func list() {
    checkWire(ConsentList(), "{}")
    checkWire(
      ConsentList(account: ada, provider: freedom), #"{"account":"acc_1","provider":"freedom"}"#)
    checkWire(
      ConsentList.Reply(consents: [
        .init(
          account: ada, provider: freedom, client: "till", grant: "read.firstname",
          grantedAt: started, expiresAt: later, grantedBy: 1000)
      ]),
      """
      {"consents":[{"account":"acc_1","provider":"freedom","client":"till",
                    "grant":"read.firstname","grantedAt":"\(startedJSON)",
                    "expiresAt":"\(laterJSON)","grantedBy":1000}]}
      """)
  }

  @Test("consent.revoke")
  func revoke() {
    checkWire(ConsentRevoke(), "{}")
    checkWire(
      ConsentRevoke(account: ada, provider: freedom, client: "(user)", grant: "read.firstname"),
      """
      {"account":"acc_1","provider":"freedom","client":"(user)","grant":"read.firstname"}
      """)
    checkWire(ConsentRevoke.Reply(revoked: 2), #"{"revoked":2}"#)
  }

  @Test("client.clear")
  func clear() {
    checkWire(ClientClear(provider: freedom), #"{"provider":"freedom"}"#)
    checkWire(
      ClientClear.Reply(cancelled: 1, forgotten: 2, kept: 3),
      #"{"cancelled":1,"forgotten":2,"kept":3}"#)
  }
}
