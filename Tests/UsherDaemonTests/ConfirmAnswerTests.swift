import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Answers to confirmation questions", .timeLimit(.minutes(10)))
struct ConfirmAnswerTests {
  private let harness: ConfirmHarness
  private var kiosk: Caller { harness.kiosk }
  private var admin: Caller { harness.admin }

  init() throws { harness = try ConfirmHarness() }

  @Test(
    "the admin socket may answer any confirmation, a rule with confirms those of the named clients")
  func freely() async throws {
    for (caller, asker) in [
      (admin, kiosk), (admin, try .client("till", of: .bert)),
      (try .client("desk", of: .bert, confirms: ["kiosk"]), kiosk),
      (try .client("desk", confirms: ["kiosk"]), try .client("kiosk", of: .bert)),
    ] {
      #expect(await harness.objection(try harness.question(asker), by: caller) == nil)
      #expect(harness.refusal(asker) == nil)
    }
  }

  @Test("other users, and root at the app socket, neither see nor answer a confirmation question")
  func others() async throws {
    let id = try harness.question(kiosk)
    for caller in [
      try Caller.program(of: .bert), try .client("kiosk", of: .bert),
      try .client("desk", of: .bert, confirms: ["till"]),
      try .program(of: Owner(realm: "host", uid: 0)),
    ] {
      #expect(await harness.objection(id, by: caller) == .notFound)
      #expect(await harness.service.list(caller).questions == [])
    }
    #expect(try harness.question(kiosk) == id)
  }

  @Test(
    "any client of the asking user may answer a confirmation within 60 s of its local authentication"
  )
  func proof() async throws {
    for client in [kiosk, try .client("desk"), try .client("kiosk", confirms: ["kiosk"])] {
      let id = try harness.question(kiosk)
      #expect(await harness.service.list(client).questions.map(\.id) == [id])
      #expect(await harness.objection(id, by: client) == .interactionRequired)
      try await harness.prove(to: "another")
      try await harness.prove(.bert, to: client.client)
      let error = await #expect(throws: UsherError.self) {
        try await harness.answer(id, by: client)
      }
      #expect(error?.reason == .interactionRequired)
      #expect(error?.detail.next?.kind == LocalAuthenticate.kind)
      #expect(error?.detail.confirmation == nil)
      try await harness.prove(to: client.client)
      harness.clock.advance(by: .milliseconds(60_001))
      #expect(await harness.objection(id, by: client) == .interactionRequired)
      try await harness.prove(to: client.client)
      harness.clock.advance(by: .seconds(60))
      #expect(await harness.objection(id, by: client) == nil)
      #expect(harness.refusal(kiosk) == nil)
      harness.clock.advance(by: .seconds(1))
    }
  }

  @Test(
    "the setting confirms of a rule allows confirm.list, confirm.answer and confirm.forget only")
  func rule() throws {
    let service = try Caller.client("desk", confirms: ["kiosk"], allow: [])
    let other = try Caller.client("desk", allow: [])
    for method in [ConfirmList.name, ConfirmAnswer.name, ConfirmForget.name] {
      #expect(service.decide(PolicyRequest(method: method)).isAllowed)
      #expect(!other.decide(PolicyRequest(method: method)).isAllowed)
    }
    #expect(!service.decide(.token).isAllowed)
  }

  @Test(
    "a second confirmation answer is a conflict, or not_found if the caller may not see the question"
  )
  func twice() async throws {
    let id = try harness.question(kiosk)
    try await harness.answer(id, by: admin)
    #expect(await harness.objection(id, by: admin) == .conflict)
    #expect(await harness.objection(id, by: kiosk) == .conflict)
    #expect(await harness.objection(id, by: try .program(of: .bert)) == .notFound)
    #expect(harness.refusal(kiosk) == nil)
    #expect(await harness.objection(id, by: admin) == .conflict)
    #expect(harness.told == ["asked \(id)", "answered \(id)"])
    #expect(await harness.objection(ConfirmationID("cnf_none"), by: admin) == .notFound)
  }

  @Test(
    "of two concurrent confirmation answers, the first is accepted and the second is a conflict")
  func atOnce() async throws {
    for _ in 1...20 {
      let id = try harness.question(kiosk)
      async let first = harness.objection(id, by: admin, .seconds(60))
      async let second = harness.objection(id, by: admin, .seconds(60))
      let both = await [first, second]
      #expect(both.filter { $0 == nil }.count == 1)
      #expect(both.filter { $0 == .conflict }.count == 1)
      try await harness.forget(id, by: admin)
    }
  }

  @Test(
    "a confirmation answer for 60 s is refused while the disk fails, and the question stays open")
  func failingDisk() async throws {
    let id = try harness.question(kiosk)
    try harness.harness.store.close()
    #expect(await harness.objection(id, by: admin, .seconds(60)) == .storageUnavailable)
    #expect(try harness.question(kiosk) == id)
    #expect(await harness.objection(id, by: admin, .session) == nil)
    #expect(harness.refusal(kiosk) == nil)
  }

  @Test("the remembered confirmation answers of a user are limited, and an expired one makes room")
  func limit() async throws {
    var limits = Limits()
    limits.rememberedConfirmationsPerUser = 1
    let harness = try ConfirmHarness(limits)
    try await harness.answer(harness.question(kiosk), true, .seconds(60), by: admin)
    let other = PolicyRequest(method: "token.get", provider: "home")
    let id = try harness.question(other, kiosk)
    let error = await #expect(throws: UsherError.self) {
      try await harness.answer(id, by: admin)
    }
    #expect(error?.reason == .rateLimited)
    #expect(error?.detail.limit == "remembered_confirmations_per_user")
    let bert = try Caller.client("kiosk", of: .bert)
    try await harness.answer(harness.question(bert), by: admin)
    harness.clock.advance(by: .seconds(60))
    try await harness.answer(id, by: admin)
  }
}

@Suite("confirm.list and confirm.forget", .timeLimit(.minutes(10)))
struct ConfirmListTests {
  private let harness: ConfirmHarness
  private var kiosk: Caller { harness.kiosk }
  private var admin: Caller { harness.admin }

  init() throws { harness = try ConfirmHarness() }

  @Test("confirm.list shows client, call, expiry and answer of each question, also after a restart")
  func list() async throws {
    let now = harness.clock.now()
    let update = try harness.harness.repository.update(
      .sample(), owner: .anna, provider: .work, at: now)
    harness.harness.repository.install(update)
    var request = PolicyRequest(method: "flow.start", provider: "work", kind: "sca")
    request.account = .init(id: update.record.id.rawValue, subject: "usr_anna")
    request.scopes = ["openid"]
    let id = try harness.question(request, kiosk)
    let asker = Confirmation.Asker(
      client: "kiosk", uid: 1000, user: "anna", unit: "kiosk.service",
      executable: "/usr/bin/kiosk")
    let about = Confirmation.About(
      method: "flow.start", provider: .work, kind: "sca", account: update.record.id,
      label: "anna@example.com", scope: "openid")
    #expect(
      await harness.service.list(admin)
        == .init(
          questions: [
            .init(
              id: id, asker: asker, about: about, askedAt: now, expiresAt: now + .seconds(300))
          ], answers: []))
    let service = try Caller.client("desk", of: .bert, confirms: ["kiosk"])
    harness.clock.advance(by: .seconds(1))
    try await harness.answer(id, true, .seconds(60), by: service)
    let expected = Confirmation.Answer(
      id: id, asker: asker, about: about, allow: true, remember: .seconds(60),
      answeredAt: now + .seconds(1), answeredBy: .init(client: "desk", uid: 1001),
      expiresAt: now + .seconds(61))
    for caller in [admin, service, kiosk] {
      #expect(await harness.service.list(caller) == .init(questions: [], answers: [expected]))
    }
    #expect(await harness.service.list(try .client("kiosk", of: .bert)).answers == [])
    #expect(await (try harness.restarted()).list(admin).answers == [expected])
    harness.clock.advance(by: .seconds(60))
    #expect(await harness.service.list(admin).answers == [])
  }

  @Test("confirm.list is in the order of asking and answering; the admin socket answers as (admin)")
  func order() async throws {
    var ids: [ConfirmationID] = []
    for provider in ["c", "a", "b"] {
      ids.append(
        try harness.question(PolicyRequest(method: "token.get", provider: provider), kiosk))
      harness.clock.advance(by: .milliseconds(1))
    }
    #expect(await harness.service.list(admin).questions.map(\.id) == ids)
    for id in ids.reversed() {
      try await harness.answer(id, true, .session, by: admin)
      harness.clock.advance(by: .milliseconds(1))
    }
    let answers = await harness.service.list(admin).answers
    #expect(answers.map(\.id) == ids.reversed())
    #expect(answers.allSatisfy { $0.answeredBy == .init(client: "(admin)", uid: 0) })
    #expect(answers.allSatisfy { $0.expiresAt == nil })
  }

  @Test(
    "after confirm.forget the same call asks a new question, also after a restart",
    arguments: [Remember.once, .session, .seconds(3600)])
  func forget(remember: Remember) async throws {
    let id = try harness.question(kiosk)
    try await harness.answer(id, true, remember, by: admin)
    try await harness.forget(id, by: admin)
    #expect(harness.told == ["asked \(id)", "answered \(id)", "forgotten \(id)"])
    #expect(try harness.harness.store.loadConfirmations().isEmpty)
    #expect(try harness.question(kiosk) != id)
    #expect(try harness.question(kiosk, at: harness.restarted()) != id)
    let error = await #expect(throws: UsherError.self) { try await harness.forget(id, by: admin) }
    #expect(error?.reason == .notFound && error?.detail.field == "answer")
  }

  @Test("confirm.forget is refused to a caller that may not answer the question")
  func forgetting() async throws {
    let id = try harness.question(kiosk)
    try await harness.answer(id, true, .session, by: admin)
    for (caller, reason) in [
      (kiosk, UsherError.Reason.interactionRequired), (try .program(of: .bert), .notFound),
      (try .client("desk", of: .bert, confirms: ["till"]), .notFound),
    ] {
      let error = await #expect(throws: UsherError.self) {
        try await harness.forget(id, by: caller)
      }
      #expect(error?.reason == reason)
    }
    #expect(harness.refusal(kiosk) == nil)
    try await harness.prove(to: "kiosk")
    try await harness.forget(id, by: kiosk)
    #expect(harness.refusal(kiosk) == .interactionRequired)
  }

  @Test("a new confirmation answer replaces an expired one on disk")
  func renewed() async throws {
    try await harness.answer(harness.question(kiosk), true, .seconds(60), by: admin)
    harness.clock.advance(by: .seconds(60))
    try await harness.answer(harness.question(kiosk), false, .seconds(60), by: admin)
    #expect(try harness.harness.store.loadConfirmations().count == 1)
    #expect(harness.refusal(kiosk, at: try harness.restarted()) == .permissionDenied)
  }

  @Test(
    "the sweep deletes an expired confirmation answer, even if it was listed or replaced before")
  func swept() async throws {
    try await harness.answer(harness.question(kiosk), true, .seconds(60), by: admin)
    harness.clock.advance(by: .seconds(60))
    #expect(await harness.service.list(admin).answers == [])
    try await harness.answer(harness.question(kiosk), true, .session, by: admin)
    #expect(try harness.harness.store.loadConfirmations().count == 1)
    try await harness.service.sweep()
    #expect(try harness.harness.store.loadConfirmations().isEmpty)
  }

  @Test(
    "a confirmation for the session deletes an older stored one that a changed clock had hidden")
  func overwritten() async throws {
    try await harness.answer(harness.question(kiosk), true, .seconds(3600), by: admin)
    harness.clock.advance(by: .seconds(-1))
    try await harness.answer(harness.question(kiosk), false, .session, by: admin)
    harness.clock.advance(by: .seconds(2))
    #expect(harness.refusal(kiosk) == .permissionDenied)
    #expect(try harness.harness.store.loadConfirmations().isEmpty)
  }

  @Test("confirm events reach exactly the callers that may answer the question")
  func events() throws {
    _ = try harness.question(kiosk)
    let entry = try #require(harness.entries.first)
    #expect(entry.owner == nil)
    for caller in [
      admin, kiosk, try .client("till"), try .client("desk", of: .bert, confirms: ["kiosk"]),
    ] { #expect(caller.mayReceive(entry)) }
    for caller in [
      try Caller.program(of: .bert), try .client("kiosk", of: .bert),
      try .client("desk", of: .bert, confirms: ["till"]),
      try .program(of: Owner(realm: "host", uid: 0)),
    ] { #expect(!caller.mayReceive(entry)) }
  }
}
