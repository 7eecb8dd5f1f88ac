import FoundationEssentials
import JSONRPC
import Testing

@testable import UsherKit

/// A presenter for the modes with pages, which answers each page as the test specifies.
private final class PageViewer: FreedomIDPresenter {
  let pages: AsyncStream<FreedomIDPage>
  private let feed: AsyncStream<FreedomIDPage>.Continuation
  private let person: @Sendable (FreedomIDPage) -> FreedomIDAnswer

  init(_ person: @escaping @Sendable (FreedomIDPage) -> FreedomIDAnswer = { _ in .stay }) {
    self.person = person
    (pages, feed) = AsyncStream.makeStream()
  }

  func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
    .stay
  }

  func answer(_ page: FreedomIDPage, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
    feed.yield(page)
    return person(page)
  }
}

@Suite("Freedom ID pages in a browser", .timeLimit(.minutes(10)))
struct FreedomIDPageTests {
  private static let grants: [DataGrants] = [.readFirstname, .readPhone]

  private static func refuses(_ name: String) -> FreedomIDDaemon.Answer {
    .refused(FreedomIDDaemon.error("invalid_params", field: "params.\(name)"))
  }

  private static func page(completes: String = "loopback") -> FreedomIDFlowSnapshot {
    .asking(
      "browser",
      #"""
      {"type":"openURL","url":"https://id.example/login","redirectURI":"http://127.0.0.1:1/",\#
      "completes":"\#(completes)"}
      """#)
  }

  /// The end of a flow of mode `oidc`.
  private static let signedIn = FreedomIDFlowSnapshot(
    state: "userinfo", status: "succeeded", step: "null", result: #"{"account":"acc_1"}"#)

  private static func account(_ profile: String) -> String {
    #"""
    {"account":{"id":"acc_1","provider":"freedom","subject":"s","label":"l","owner":1000,\#
    "client":null,"createdAt":"2030-01-01T00:00:00Z","keepAlive":false,"attributes":{},\#
    "profile":\#(profile),"tokens":[]}}
    """#
  }

  private func openID(
    _ profile: String, _ grants: [DataGrants]
  ) async throws -> (Result<GrantedProfile, FreedomIDError>, FreedomIDDaemon) {
    let daemon = FreedomIDDaemon(
      starts: [Self.refuses("apiKey"), Self.refuses("grants"), .advances([Self.signedIn])],
      replies: ["account.get": [.reply(Self.account(profile))]])
    return (try await daemon.authorize(grants: grants), daemon)
  }

  @Test("authorize opens the page of mode oauth2 and returns the granted profile")
  func partner() async throws {
    let daemon = FreedomIDDaemon(starts: [Self.refuses("apiKey"), .advances([Self.page()])])
    let viewer = PageViewer()
    try await daemon.run { path in
      async let outcome = freedomID(path).outcome(viewer, Self.grants)
      var pages = viewer.pages.makeAsyncIterator()
      let page = await pages.next()
      #expect(page?.url.absoluteString == "https://id.example/login")
      #expect(page?.noticesReturn == true)
      try await daemon.happens(.authorized)
      #expect(await outcome.firstname == "Aigerim")
    }
    #expect(
      daemon.params(of: "flow.start").map { $0["params"] } == [
        ["apiKey": "key-1", "grants": ["read.firstname", "read.phone"]],
        ["grants": ["read.firstname", "read.phone"]],
      ])
  }

  @Test("a Freedom ID page takes the address to which the browser returned, and can be cancelled")
  func answers() async throws {
    let back = try #require(URL(string: "http://127.0.0.1:1/?code=c"))
    let daemon = FreedomIDDaemon(
      Self.page(completes: "submit"), inputs: [.advances([.authorized])])
    try await daemon.run { path in
      let viewer = PageViewer { page in page.noticesReturn ? .cancel : page.returned(to: back) }
      #expect(await freedomID(path).outcome(viewer).firstname == "Aigerim")
    }
    #expect(daemon.inputs == [["type": "openURL", "redirectURL": "http://127.0.0.1:1/?code=c"]])
    let other = FreedomIDDaemon(Self.page())
    try await other.run { path in
      #expect(await freedomID(path).outcome(PageViewer { _ in .cancel }).error == .userCanceled)
    }
    #expect(other.methods == ["flow.start", "flow.cancel"])
  }

  @Test("authorize in mode oidc starts without grants and returns the claims that correspond")
  func claims() async throws {
    let (outcome, daemon) = try await openID(
      #"""
      {"birthdate":"1990-05-17","given_name":"Aigerim","family_name":"Bekova",\#
      "middle_name":"Serikovna","address":{"country":"KAZ"},"gender":"female",\#
      "phone_number":"+77011234567","email":"a@b.kz","nickname":"Aika"}
      """#, DataGrants.allCases)
    let profile = try outcome.get()
    let texts = [
      profile.dateOfBirth, profile.firstname, profile.lastname, profile.patronymic,
      profile.country, profile.gender, profile.phone, profile.email,
    ]
    #expect(
      texts == [
        "1990-05-17", "Aigerim", "Bekova", "Serikovna", "KAZ", "female", "+77011234567", "a@b.kz",
      ])
    #expect(profile.phones == ["+77011234567"] && profile.emails == ["a@b.kz"])
    #expect(profile.nationality == nil && profile.identifier == nil)
    #expect(
      profile.granted == Set(DataGrants.allCases).subtracting([.readNationality, .readIdentifier]))
    #expect(profile.account == "acc_1")
    #expect(daemon.params(of: "flow.start").last?["params"] == [:])
    #expect(daemon.params(of: "account.get") == [["account": "acc_1"]])
  }

  @Test("authorize in mode oidc returns only the claims of the requested grants")
  func requested() async throws {
    let claims = #"{"given_name":"Aigerim","email":"a@b.kz","phone_number":null}"#
    let profile = try await openID(claims, Self.grants).0.get()
    #expect(profile.firstname == "Aigerim" && profile.email == nil && profile.phone == nil)
    #expect(profile.granted == [.readFirstname])
  }

  @Test("authorize in mode oidc without any requested claim ends with accessDenied")
  func noClaim() async throws {
    #expect(try await openID(#"{"email":"a@b.kz"}"#, Self.grants).0.error == .accessDenied)
  }

  @Test("a claim of another type ends authorize in mode oidc with parsingError")
  func wrongClaim() async throws {
    #expect(try await openID(#"{"given_name":7}"#, Self.grants).0.error == .parsingError)
  }
}
