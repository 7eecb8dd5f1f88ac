import JSONRPC
import Testing

@testable import UsherKit

@Suite("Freedom ID authorization with UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDAuthorizeTests {
  private let homeToProfile: [FreedomIDDaemon.Answer] = [
    .advances([.passcode]), .advances([.permissions]), .advances([.completion, .authorized]),
  ]

  @Test("authorize leads a new Freedom ID user through log-in and codes to the granted profile")
  func logIn() async throws {
    let viewer = FreedomIDViewer.willing()
    let daemon = FreedomIDDaemon(
      .accountCheck, .methods,
      inputs: [
        .advances([.phone]), .advances([.code()]), .advances([.code("twoFactor")]),
        .advances([.home]),
      ] + homeToProfile)
    let profile = try await daemon.authorize(viewer).get()
    #expect(profile.firstname == "Aigerim" && profile.phone == "+77011234567")
    let words = viewer.shown.map(\.screen.caseName).filter { $0 != "waiting" }
    #expect(
      words == ["loginMethod", "form", "code", "code", "home", "passcode", "permissions"])
    #expect(
      daemon.inputs == [
        ["type": "choose", "id": "phoneOTP"],
        ["type": "fillForm", "fields": ["phone": "+77011234567"]],
        ["type": "enterCode", "code": "123456"], ["type": "enterCode", "code": "123456"],
        ["type": "choose", "id": "acc_1"], ["type": "localAuth", "passcode": "2468"],
        ["type": "consent", "granted": ["read.firstname", "read.phone", "read.emails"]],
      ])
    #expect(viewer.ends == [.authorized])
    #expect(daemon.methods.filter { $0 != "flow.submit" } == ["flow.start"])
  }

  @Test("authorize shows no screen if all Freedom ID grants were given before")
  func remembered() async throws {
    let viewer = FreedomIDViewer.willing()
    #expect(try await FreedomIDDaemon(.authorized).authorize(viewer).firstname == "Aigerim")
    #expect(viewer.shown.isEmpty && viewer.ends.isEmpty)
  }

  @Test("a recognised finger closes the Freedom ID fingerprint screen; reader problems are shown")
  func finger() async throws {
    let daemon = FreedomIDDaemon(.finger, inputs: [.advances([.authorized])])
    let viewer = FreedomIDViewer { screen in
      if screen.caseName == "fingerprint" { await untilCancelled() }
      return screen.goingOn
    }
    let outcome = try await daemon.authorize(viewer) {
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "fingerprint")
      try await daemon.happens(.finger.with(problem: "scan_again"))
      #expect(await screens.next()?.problem == "scan_again")
      try await daemon.happens(.permissions)
    }
    #expect(outcome.firstname == "Aigerim" && viewer.over == 2)
    #expect(daemon.inputs.map { $0["type"] } == ["consent"])
  }

  @Test("a first Freedom ID denial shows the accounts again, and a second throws accessDenied")
  func denied() async throws {
    let daemon = FreedomIDDaemon(
      .home,
      inputs: [
        .advances([.permissions]), .advances([.home.with(problem: "denied")]),
        .advances([.permissions]),
        .advances([.failed("denied", "accessDenied")]),
      ])
    let viewer = FreedomIDViewer { screen in
      if case .permissions(let screen) = screen { screen.deny() } else { screen.goingOn }
    }
    #expect(try await daemon.authorize(viewer).error == .accessDenied)
    #expect(viewer.shown.map(\.problem) == [nil, nil, "denied", nil])
    #expect(viewer.ends == [.failed(message: "why it failed")])
  }

  @Test("a Freedom ID code screen is shown again for each wrong code, even with the same problem")
  func wrongCode() async throws {
    let wrong = FreedomIDFlowSnapshot.code(attemptsLeft: 2).with(problem: "wrong_code")
    let daemon = FreedomIDDaemon(
      .code(), inputs: [.advances([wrong]), .advances([]), .advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    #expect(try await daemon.authorize(viewer).firstname == "Aigerim")
    #expect(viewer.shown.map(\.problem) == [nil, "wrong_code", "wrong_code"])
    #expect(daemon.inputs.count == 3)
  }

  @Test("a Freedom ID flow without a step shows the waiting screen")
  func noStep() async throws {
    let viewer = FreedomIDViewer.willing()
    let daemon = FreedomIDDaemon(.asking("completion", "null"))
    _ = try await daemon.authorize(viewer) {
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen == .waiting(.init(reason: "usherd")))
      try await daemon.happens(.authorized)
    }
  }

  @Test("authorize without Freedom ID grants throws dataGrantsCanNotBeEmpty and shows no screen")
  func noGrants() async throws {
    let viewer = FreedomIDViewer.willing()
    let daemon = FreedomIDDaemon(starts: [])
    #expect(try await daemon.authorize(viewer, grants: []).error == .dataGrantsCanNotBeEmpty)
    #expect(viewer.shown.isEmpty && viewer.ends.isEmpty && daemon.methods.isEmpty)
    let absent = freedomID("/tmp/no-such-folder/s")
    #expect(await absent.outcome(viewer, []).error == .dataGrantsCanNotBeEmpty)
  }

  @Test("two concurrent Freedom ID authorizations are two flows with separate screens")
  func twoAtATime() async throws {
    let daemon = FreedomIDDaemon(
      starts: [.advances([.home]), .advances([.password])], inputs: [.advances([.authorized])])
    let idle = FreedomIDViewer.idle()
    let viewer = FreedomIDViewer.willing()
    try await daemon.run { path in
      let sdk = freedomID(path)
      let first = Task { await sdk.outcome(idle) }
      var screens = idle.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "home")
      #expect(await sdk.outcome(viewer).firstname == "Aigerim")
      first.cancel()
      #expect(await first.value.error == .userCanceled)
    }
    #expect(viewer.shown.map(\.screen.caseName) == ["password"])
    #expect(daemon.params(of: "flow.submit").map { $0["flow"] } == ["flw_2"])
    #expect(daemon.params(of: "flow.cancel").map { $0["flow"] } == ["flw_1"])
  }
}

// MARK: - Answers without effect

extension FreedomIDAuthorizeTests {
  @Test(
    "a Freedom ID screen is shown again with the reason if the daemon refuses its answer",
    arguments: ["invalid_input", "unexpected_input", "rate_limited", "overloaded"])
  func notTaken(reason: String) async throws {
    let daemon = FreedomIDDaemon(
      .phone, inputs: [.refused(FreedomIDDaemon.error(reason)), .advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    #expect(try await daemon.authorize(viewer).firstname == "Aigerim")
    #expect(viewer.shown.map(\.problem) == [nil, reason])
    #expect(viewer.shown.allSatisfy { $0.screen.caseName == "form" })
  }

  @Test(
    "a Freedom ID answer that is too late for its step does not end the authorization",
    arguments: ["conflict", "flow_finished"])
  func overtaken(reason: String) async throws {
    let daemon = FreedomIDDaemon(
      .home, inputs: [.refused(FreedomIDDaemon.error(reason)), .advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    let outcome = try await daemon.authorize(viewer) {
      for await method in daemon.methodsHeard where method == "flow.submit" { break }
      try await daemon.happens(.permissions)
    }
    #expect(outcome.firstname == "Aigerim")
    #expect(viewer.shown.map(\.screen.caseName) == ["home", "permissions"])
  }

  @Test(
    "a lost Freedom ID answer is asked for again and never resubmitted automatically",
    arguments: [
      FreedomIDDaemon.Answer.lost, .refused(FreedomIDDaemon.error("shutting_down")),
      .refused(FreedomIDDaemon.error("deadline_exceeded")),
    ])
  func lostAnswer(loss: FreedomIDDaemon.Answer) async throws {
    let daemon = FreedomIDDaemon(.password, inputs: [loss, .advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    #expect(try await daemon.authorize(viewer, patience: .seconds(5)).firstname == "Aigerim")
    #expect(viewer.shown.map(\.problem) == [nil, "interrupted"])
    #expect(daemon.inputs.count == 2)
  }

  @Test("a Freedom ID answer that arrived without a reply is not asked for again")
  func arrivedUntold() async throws {
    let daemon = FreedomIDDaemon(
      .password, inputs: [.advancesAndDisconnects([.permissions]), .advances([.authorized])])
    let viewer = FreedomIDViewer.willing()
    #expect(try await daemon.authorize(viewer, patience: .seconds(5)).firstname == "Aigerim")
    #expect(viewer.shown.map(\.screen.caseName) == ["password", "permissions"])
  }
}
