import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Consent in the Freedom ID device flow")
struct DeviceConsentTests {
  private static let three = ["read.firstname", "read.phone", "read.data_of_birth"]

  @Test("the Freedom ID consent step lists every grant and marks those that are remembered")
  func step() throws {
    let driven = try Driven.permissions(
      grants: Self.three, remembered: ["read.phone", "read.email"])
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "permissions")
    #expect(driven.problem == nil)
    #expect(
      driven.step
        == .consent(
          .init(
            client: "Acme",
            grants: [
              .init(id: "read.data_of_birth", label: "Date of birth", remembered: false),
              .init(id: "read.firstname", label: "First name", remembered: false),
              .init(id: "read.phone", label: "Phone number", remembered: true),
            ])))
  }

  @Test("the Freedom ID consent step is skipped if every grant is remembered")
  func nothingNew() throws {
    var driven = try Driven.recalling(grants: Self.three)
    driven.receive(.answered(.consents(Set(Self.three + ["read.email"]))))
    #expect(driven.state == "completion")
    guard
      case .consent(AccountID("acc_1"), let grants, request: _, device: installation) =
        driven.calls.first
    else { return #expect(Bool(false), "\(driven.last)") }
    #expect(grants == [.dateOfBirth, .firstname, .phone])
  }

  @Test("with consent_days = 0 the Freedom ID consent step asks for every grant each time")
  func asksAlways() throws {
    let provider = Driven.provider { $0.consentDays = 0 }
    var driven = try Driven(grants: Self.three, accounts: [Driven.aigerim], provider: provider)
    driven.answered(Driven.list([Driven.aigerim]))
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents(Set(Self.three))))
    guard case .consent(let consent) = driven.step else {
      return #expect(Bool(false), "\(driven.step)")
    }
    #expect(consent.grants.count == 3 && !consent.grants.contains { $0.remembered })
    driven.say(.granted(["read.phone"]))
    let reply = Driven.profile(["granted": ["read.phone"], "profile": ["phone": "+77011234567"]])
    driven.answered(reply)
    let completion = try #require(driven.completion)
    #expect(completion.preconditions?.consents == [])
    #expect(completion.grant?.consents.map(\.grant) == ["read.phone"])
    #expect(completion.grant?.consents.first?.expiresAt == now + .seconds(365 * 86_400))
  }

  @Test("a Freedom ID consent request has the granted and the remembered grants in table order")
  func granted() throws {
    let cases: [([String], [DataGrant])] = [
      (["read.firstname"], [.firstname, .phone]),
      (["read.date_of_birth"], [.dateOfBirth, .phone]),
      (["read.data_of_birth", "read.date_of_birth"], [.dateOfBirth, .phone]),
      (["read.phone", "read.firstname"], [.firstname, .phone]),
      (Self.three, [.dateOfBirth, .firstname, .phone]),
    ]
    for (granted, handedIn) in cases {
      let driven = try Driven.completing(
        grants: Self.three, remembered: ["read.phone"], granted: granted)
      guard
        case .consent(AccountID("acc_1"), let grants, let request, installation) =
          driven.calls.first
      else { return #expect(Bool(false), "\(driven.last)") }
      #expect(grants == handedIn)
      #expect(request.utf8.count == 36)
      #expect(driven.state == "completion")
      #expect(driven.step == .wait(.init(for: "the profile")))
    }
  }

  @Test(
    "the Freedom ID consent step refuses grants outside the step and answers without a new grant")
  func refused() throws {
    var driven = try Driven.permissions(grants: Self.three, remembered: ["read.phone"])
    let before = driven.flow
    let stray = "input.granted names a grant that the step does not request"
    let none = "input.granted must name at least one new grant; to deny, answer {denied: true}"
    for (granted, message) in [
      ([], none), (["read.phone"], none), (["read.email"], stray), (["read.secret"], stray),
      (["read.firstname", "read.email"], stray), (["read.firstname", ""], stray),
      (["READ.FIRSTNAME"], stray),
    ] {
      driven.say(.granted(granted))
      #expect(driven.last == .refuse(field: "input.granted", message: message))
      #expect(driven.flow == before)
    }
  }

  @Test("a first denial of the Freedom ID permissions leads back to the choice of an account")
  func deniedOnce() throws {
    var driven = try Driven.permissions()
    driven.say(.denied)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "home")
    #expect(driven.step == (try Driven.home()).step)
    #expect(
      driven.problem
        == Problem(
          reason: "denied", title: "Permissions denied",
          message: "the permissions are needed to continue: choose an account to be asked again"))
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents([])))
    #expect(driven.flow.view == (try Driven.permissions()).flow.view)
    driven.say(.granted(["read.phone"]))
    #expect(driven.state == "completion")
  }

  @Test("a second denial of the Freedom ID permissions fails the flow, even after a restart")
  func deniedTwice() throws {
    var driven = try Driven.permissions()
    driven.say(.denied)
    try driven.restart()
    #expect(driven.last == .ignore)
    #expect(driven.problem?.reason == "denied")
    driven.say(.choice("acc_2"))
    driven.prove()
    driven.receive(.answered(.consents([])))
    driven.say(.denied)
    #expect(
      driven.failure
        == Failure(
          reason: .denied, title: "Permissions denied",
          message: "the permissions are needed to continue", retryable: true,
          provider: ProviderErrorCode(name: Driven.name, code: "accessDenied")))
  }

  @Test("going back from the Freedom ID consent step does not count as a denial")
  func back() throws {
    var driven = try Driven.permissions()
    for _ in 0..<3 {
      driven.say(.back(.consent))
      #expect(driven.last == .proceed([]))
      #expect(driven.flow.view == (try Driven.home()).flow.view)
      driven.say(.choice("acc_1"))
      driven.prove()
      driven.receive(.answered(.consents([])))
    }
    #expect(driven.state == "permissions")
  }
}
