import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Who answers a question")
struct ConfirmAnswerTests {
  private let stage: ConfirmStage
  private var kiosk: Caller { stage.kiosk }
  private var admin: Caller { stage.admin }

  init() throws { stage = try ConfirmStage() }

  @Test("the admin socket answers all, and a client whose rule says so those of that client")
  func freely() async throws {
    for (caller, asker) in [
      (admin, kiosk), (admin, try .client("till", of: .bert)),
      (try .client("desk", of: .bert, confirms: ["kiosk"]), kiosk),
      (try .client("desk", confirms: ["kiosk"]), try .client("kiosk", of: .bert)),
    ] {
      #expect(await stage.objection(try stage.question(asker), by: caller) == nil)
      #expect(stage.refusal(asker) == nil)
    }
  }

  @Test("to others there is no such question, not even to root at the socket for all")
  func others() async throws {
    let id = try stage.question(kiosk)
    for caller in [
      try Caller.program(of: .bert), try .client("kiosk", of: .bert),
      try .client("desk", of: .bert, confirms: ["till"]),
      try .program(of: Owner(realm: "host", uid: 0)),
    ] {
      #expect(await stage.objection(id, by: caller) == .notFound)
      #expect(await stage.service.list(caller).questions == [])
    }
    #expect(try stage.question(kiosk) == id)
  }

  @Test("any client of the user who asked answers with a proof of its own, also the one that asked")
  func proof() async throws {
    for client in [kiosk, try .client("desk"), try .client("kiosk", confirms: ["kiosk"])] {
      let id = try stage.question(kiosk)
      #expect(await stage.service.list(client).questions.map(\.id) == [id])
      #expect(await stage.objection(id, by: client) == .interactionRequired)
      try await stage.prove(to: "another")
      try await stage.prove(.bert, to: client.client)
      let error = await #expect(throws: UsherError.self) {
        try await stage.answer(id, by: client)
      }
      #expect(error?.reason == .interactionRequired)
      #expect(error?.detail.next?.kind == LocalAuthenticate.kind)
      #expect(error?.detail.confirmation == nil)
      try await stage.prove(to: client.client)
      stage.clock.advance(by: .milliseconds(60_001))
      #expect(await stage.objection(id, by: client) == .interactionRequired)
      try await stage.prove(to: client.client)
      stage.clock.advance(by: .seconds(60))
      #expect(await stage.objection(id, by: client) == nil)
      #expect(stage.refusal(kiosk) == nil)
      stage.clock.advance(by: .seconds(1))
    }
  }

  @Test("a rule with confirms lists what it takes to answer, and nothing else")
  func rule() throws {
    let service = try Caller.client("desk", confirms: ["kiosk"], allow: [])
    let other = try Caller.client("desk", allow: [])
    for method in [ConfirmList.name, ConfirmAnswer.name, ConfirmForget.name] {
      #expect(service.decide(PolicyRequest(method: method)).isAllowed)
      #expect(!other.decide(PolicyRequest(method: method)).isAllowed)
    }
    #expect(!service.decide(.token).isAllowed)
  }

  @Test("an answer is given once; who may not see it is not told of it either")
  func twice() async throws {
    let id = try stage.question(kiosk)
    try await stage.answer(id, by: admin)
    #expect(await stage.objection(id, by: admin) == .conflict)
    #expect(await stage.objection(id, by: kiosk) == .conflict)
    #expect(await stage.objection(id, by: try .program(of: .bert)) == .notFound)
    #expect(stage.refusal(kiosk) == nil)
    #expect(await stage.objection(id, by: admin) == .conflict)
    #expect(stage.told == ["asked \(id)", "answered \(id)"])
    #expect(await stage.objection(ConfirmationID("cnf_none"), by: admin) == .notFound)
  }

  @Test("of two answers at once the first counts")
  func atOnce() async throws {
    for _ in 1...20 {
      let id = try stage.question(kiosk)
      async let first = stage.objection(id, by: admin, .seconds(60))
      async let second = stage.objection(id, by: admin, .seconds(60))
      let both = await [first, second]
      #expect(both.filter { $0 == nil }.count == 1)
      #expect(both.filter { $0 == .conflict }.count == 1)
      try await stage.forget(id, by: admin)
    }
  }

  @Test("while the disk refuses, an answer that is to last is not taken, and the question stays")
  func failingDisk() async throws {
    let id = try stage.question(kiosk)
    try stage.stage.store.close()
    #expect(await stage.objection(id, by: admin, .seconds(60)) == .storageUnavailable)
    #expect(try stage.question(kiosk) == id)
    #expect(await stage.objection(id, by: admin, .session) == nil)
    #expect(stage.refusal(kiosk) == nil)
  }

  @Test("so many answers are remembered for one user; to renew one takes no more room")
  func limit() async throws {
    var limits = Limits()
    limits.rememberedConfirmationsPerUser = 1
    let stage = try ConfirmStage(limits)
    try await stage.answer(stage.question(kiosk), true, .seconds(60), by: admin)
    let other = PolicyRequest(method: "token.get", provider: "home")
    let id = try stage.question(other, kiosk)
    let error = await #expect(throws: UsherError.self) {
      try await stage.answer(id, by: admin)
    }
    #expect(error?.reason == .rateLimited)
    #expect(error?.detail.limit == "remembered_confirmations_per_user")
    let bert = try Caller.client("kiosk", of: .bert)
    try await stage.answer(stage.question(bert), by: admin)
    stage.clock.advance(by: .seconds(60))
    try await stage.answer(id, by: admin)
  }
}

@Suite("Questions and answers, as they are listed and forgotten")
struct ConfirmListTests {
  private let stage: ConfirmStage
  private var kiosk: Caller { stage.kiosk }
  private var admin: Caller { stage.admin }

  init() throws { stage = try ConfirmStage() }

  @Test("a question says who asks for what, until when; an answer besides who gave it")
  func list() async throws {
    let now = stage.clock.now()
    let update = try stage.stage.book.update(.sample(), owner: .anna, provider: .work, at: now)
    stage.stage.book.install(update)
    var request = PolicyRequest(method: "flow.start", provider: "work", kind: "sca")
    request.account = .init(id: update.record.id.rawValue, subject: "usr_anna")
    request.scopes = ["openid"]
    let id = try stage.question(request, kiosk)
    let asker = Confirmation.Asker(
      client: "kiosk", uid: 1000, user: "anna", unit: "kiosk.service",
      executable: "/usr/bin/kiosk")
    let about = Confirmation.About(
      method: "flow.start", provider: .work, kind: "sca", account: update.record.id,
      label: "anna@example.com", scope: "openid")
    #expect(
      await stage.service.list(admin)
        == .init(
          questions: [
            .init(
              id: id, asker: asker, about: about, askedAt: now, expiresAt: now + .seconds(300))
          ], answers: []))
    let service = try Caller.client("desk", of: .bert, confirms: ["kiosk"])
    stage.clock.advance(by: .seconds(1))
    try await stage.answer(id, true, .seconds(60), by: service)
    let expected = Confirmation.Answer(
      id: id, asker: asker, about: about, allow: true, remember: .seconds(60),
      answeredAt: now + .seconds(1), answeredBy: .init(client: "desk", uid: 1001),
      expiresAt: now + .seconds(61))
    for caller in [admin, service, kiosk] {
      #expect(await stage.service.list(caller) == .init(questions: [], answers: [expected]))
    }
    #expect(await stage.service.list(try .client("kiosk", of: .bert)).answers == [])
    #expect(await (try stage.restarted()).list(admin).answers == [expected])
    stage.clock.advance(by: .seconds(60))
    #expect(await stage.service.list(admin).answers == [])
  }

  @Test("what is listed is in the order it was asked and answered; the admin socket's is (admin)'s")
  func order() async throws {
    var ids: [ConfirmationID] = []
    for provider in ["c", "a", "b"] {
      ids.append(
        try stage.question(PolicyRequest(method: "token.get", provider: provider), kiosk))
      stage.clock.advance(by: .milliseconds(1))
    }
    #expect(await stage.service.list(admin).questions.map(\.id) == ids)
    for id in ids.reversed() {
      try await stage.answer(id, true, .session, by: admin)
      stage.clock.advance(by: .milliseconds(1))
    }
    let answers = await stage.service.list(admin).answers
    #expect(answers.map(\.id) == ids.reversed())
    #expect(answers.allSatisfy { $0.answeredBy == .init(client: "(admin)", uid: 0) })
    #expect(answers.allSatisfy { $0.expiresAt == nil })
  }

  @Test(
    "an answer that is forgotten is a question again, also after a restart",
    arguments: [Remember.once, .session, .seconds(3600)])
  func forget(remember: Remember) async throws {
    let id = try stage.question(kiosk)
    try await stage.answer(id, true, remember, by: admin)
    try await stage.forget(id, by: admin)
    #expect(stage.told == ["asked \(id)", "answered \(id)", "forgotten \(id)"])
    #expect(try stage.stage.store.loadConfirmations().isEmpty)
    #expect(try stage.question(kiosk) != id)
    #expect(try stage.question(kiosk, at: stage.restarted()) != id)
    let error = await #expect(throws: UsherError.self) { try await stage.forget(id, by: admin) }
    #expect(error?.reason == .notFound && error?.detail.field == "answer")
  }

  @Test("only who might have given it forgets it")
  func forgetting() async throws {
    let id = try stage.question(kiosk)
    try await stage.answer(id, true, .session, by: admin)
    for (caller, reason) in [
      (kiosk, UsherError.Reason.interactionRequired), (try .program(of: .bert), .notFound),
      (try .client("desk", of: .bert, confirms: ["till"]), .notFound),
    ] {
      let error = await #expect(throws: UsherError.self) {
        try await stage.forget(id, by: caller)
      }
      #expect(error?.reason == reason)
    }
    #expect(stage.refusal(kiosk) == nil)
    try await stage.prove(to: "kiosk")
    try await stage.forget(id, by: kiosk)
    #expect(stage.refusal(kiosk) == .interactionRequired)
  }

  @Test("a later answer takes the place of one on disk whose time is over, there too")
  func renewed() async throws {
    try await stage.answer(stage.question(kiosk), true, .seconds(60), by: admin)
    stage.clock.advance(by: .seconds(60))
    try await stage.answer(stage.question(kiosk), false, .seconds(60), by: admin)
    #expect(try stage.stage.store.loadConfirmations().count == 1)
    #expect(stage.refusal(kiosk, at: try stage.restarted()) == .permissionDenied)
  }

  @Test("an answer on disk whose time is over goes with the minute's sweep, whoever looked before")
  func swept() async throws {
    try await stage.answer(stage.question(kiosk), true, .seconds(60), by: admin)
    stage.clock.advance(by: .seconds(60))
    #expect(await stage.service.list(admin).answers == [])
    try await stage.answer(stage.question(kiosk), true, .session, by: admin)
    #expect(try stage.stage.store.loadConfirmations().count == 1)
    try await stage.service.sweep()
    #expect(try stage.stage.store.loadConfirmations().isEmpty)
  }

  @Test("a renewed answer for the session leaves none on disk that a clock set on had hidden")
  func overwritten() async throws {
    try await stage.answer(stage.question(kiosk), true, .seconds(3600), by: admin)
    stage.clock.advance(by: .seconds(-1))
    try await stage.answer(stage.question(kiosk), false, .session, by: admin)
    stage.clock.advance(by: .seconds(2))
    #expect(stage.refusal(kiosk) == .permissionDenied)
    #expect(try stage.stage.store.loadConfirmations().isEmpty)
  }

  @Test("events of a question are for who may answer it")
  func events() throws {
    _ = try stage.question(kiosk)
    let entry = try #require(stage.entries.first)
    #expect(entry.owner == nil)
    for caller in [
      admin, kiosk, try .client("till"), try .client("desk", of: .bert, confirms: ["kiosk"]),
    ] { #expect(caller.hears(entry)) }
    for caller in [
      try Caller.program(of: .bert), try .client("kiosk", of: .bert),
      try .client("desk", of: .bert, confirms: ["till"]),
      try .program(of: Owner(realm: "host", uid: 0)),
    ] { #expect(!caller.hears(entry)) }
  }
}
