import Foundation
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("totp.code and totp.list")
struct TOTPServiceTests {
  private let stage: TOTPStage

  init() throws { stage = try TOTPStage() }

  @Test("the code of the moment, with its period and its end (contract §8)")
  func code() async throws {
    let record = try await stage.keep()
    for (seconds, code, end) in [
      (0.0, "755224", 60.0), (59.999, "755224", 60), (60, "287082", 120),
      (1_234_567_890, "713351", 1_234_567_920),
    ] {
      stage.clock.time = Timestamp(seconds: seconds)
      let reply = try await stage.ask(record.id)
      #expect(reply.code.revealed() == code)
      #expect(reply.periodSeconds == 60 && reply.expiresAt == Timestamp(seconds: end))
    }
  }

  @Test("digits, period and hash are the provider's")
  func settings() async throws {
    let stage = try TOTPStage { settings in
      settings.digits = 8
      settings.periodSeconds = 30
      settings.algorithm = .sha1
    }
    let record = try await stage.keep()
    stage.clock.time = Timestamp(seconds: 1_111_111_109)
    let reply = try await stage.ask(record.id)
    #expect(reply.code.revealed() == "07081804" && reply.periodSeconds == 30)
    let other = try stage.restarted { $0.algorithm = .sha256 }
    #expect(try await stage.code(record, at: other).count == 6)
    #expect(try await stage.code(record, at: other) != "081804")
  }

  @Test("as often as one likes, where each is not given once only")
  func often() async throws {
    let record = try await stage.keep()
    #expect(try await stage.code(record) == stage.code(record))
    #expect(stage.book.record(record.id)?.details.authenticator?.givenUntil == [:])
  }

  @Test("a provider means the only account of it that has a secret")
  func byProvider() async throws {
    let none = try await stage.refusal(provider: TOTPStage.provider)
    #expect(none?.reason == .interactionRequired && none?.detail.next?.provider.rawValue == "bsa")
    let bare = try await stage.keep("bare", secret: nil)
    #expect(try await stage.refusal(provider: TOTPStage.provider)?.reason == .notFound)
    #expect(try await stage.refusal(bare.id)?.reason == .notFound)
    let first = try await stage.keep("first")
    let code = try await stage.code(first)
    #expect(try await stage.ask(provider: TOTPStage.provider).code.revealed() == code)
    try await stage.keep("second")
    let several = try await stage.refusal(provider: TOTPStage.provider)
    #expect(several?.reason == .invalidParams && several?.detail.field == "account")
    #expect(several?.message == "there are 2 accounts of provider bsa: name one")
  }

  @Test("account or provider must be there, and belong together")
  func naming() async throws {
    let record = try await stage.keep()
    let nothing = try await stage.refusal()
    #expect(nothing?.reason == .invalidParams && nothing?.detail.field == "account")
    let wrong = try await stage.refusal(record.id, provider: .work)
    #expect(wrong?.reason == .invalidParams && wrong?.detail.field == "provider")
    #expect(try await stage.refusal(record.id, provider: TOTPStage.provider) == nil)
    #expect(try await stage.refusal(provider: .work)?.message == "there is no provider work")
  }

  @Test("somebody else's account is not found, as one that there is not")
  func others() async throws {
    let record = try await stage.keep()
    let other = try #require(try await stage.refusal(record.id, of: .bert))
    try await stage.stage.store.commit([.deleteAccount(record.id)])
    stage.book.remove(record)
    let gone = try #require(try await stage.refusal(record.id, of: .bert))
    #expect(other.reason == .notFound && other.reason == gone.reason)
    #expect(other.message == gone.message && other.detail == gone.detail)
  }

  @Test("a provider that is configured no more is not found, and its accounts are not listed")
  func unconfigured() async throws {
    let stage = try TOTPStage(isConfigured: false)
    let record = try await stage.keep()
    let error = try await stage.refusal(record.id)
    #expect(error?.reason == .notFound && error?.message == "there is no provider bsa")
    #expect(try stage.service.list(TOTPList(), .program()).accounts.isEmpty)
  }

  @Test("a secret that is none is an error, and nothing breaks")
  func unreadable() async throws {
    for secret in ["", "not base32!", "GEZDGNBV"] {
      let record = try await stage.keep(secret: secret)
      let error = try await stage.refusal(record.id)
      #expect(error?.reason == .internalError)
      #expect(error.map { secret.isEmpty || !$0.message.contains(secret) } == true)
    }
  }

  @Test("of an account by consent, to a client that was granted all of it; never the daemon's own")
  func guarded() async throws {
    func keep(_ granted: [String], scope: String) async throws -> AccountRecord {
      try await stage.keep { grant in
        let consented = AccountGrant.consented(
          nil, granted: granted, tokens: .sample(scope: scope))
        grant.tokens = consented.tokens
        grant.isByConsent = true
        grant.consents = consented.consents
      }
    }
    var record = try await keep(["email"], scope: "read.email read.firstname")
    #expect(try await stage.refusal(record.id, "till")?.reason == .consentRequired)
    record = try await keep(["email", "firstname"], scope: "read.email read.firstname")
    #expect(try await stage.refusal(record.id, "till") == nil)
    #expect(try await stage.refusal(record.id, "desk")?.reason == .consentRequired)
    #expect(try await stage.refusal(record.id, isAdmin: true)?.reason == .consentRequired)
    record = try await keep(["email"], scope: "")
    #expect(try await stage.refusal(record.id, "till")?.reason == .consentRequired)

    record = try await stage.keep("own") { grant in
      grant.tokens = .sample()
      grant.tokensAreInternal = true
    }
    let error = try await stage.refusal(record.id, "till")
    #expect(error?.reason == .permissionDenied)
    #expect(error?.message == "the codes of this account are the daemon's own")
  }

  @Test("totp.list names the caller's accounts that have a secret, and no secret")
  func list() async throws {
    let stage = try TOTPStage { $0.digits = 7 }
    let record = try await stage.keep()
    try await stage.keep("bare", secret: nil)
    try await stage.keep(owner: .bert)
    let entry = TOTPList.Entry(
      account: record.id, provider: TOTPStage.provider, label: "anna", periodSeconds: 60, digits: 7)
    #expect(try stage.service.list(TOTPList(), .program()).accounts == [entry])
    #expect(
      try stage.service.list(TOTPList(provider: TOTPStage.provider), .program()).accounts == [entry]
    )
    #expect(try stage.service.list(TOTPList(provider: .work), .program()).accounts.isEmpty)
  }
}

@Suite("The secret of an account's authenticator")
struct TOTPSecretTests {
  @Test("stays where a later flow brings none, with tokens or without; a new one takes its place")
  func kept() async throws {
    let stage = try TOTPStage { $0.singleUse = true }
    var record = try await stage.keep()
    let code = try await stage.code(record, "till")
    record = try await stage.keep(secret: nil)
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPStage.secret)))
    record = try await stage.keep(secret: nil) { $0.tokens = .sample() }
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPStage.secret)))
    #expect(try await stage.refusal(record.id, "till")?.reason == .rateLimited)
    record = try await stage.keep()
    #expect(try await stage.refusal(record.id, "till")?.reason == .rateLimited, "the same secret")
    record = try await stage.keep(secret: String(TOTPStage.secret.reversed()))
    #expect(try await stage.code(record, "till") != code, "of a new one none was given")
  }

  @Test("leaves in nothing: neither row nor account, token, event or error has it")
  func canary() async throws {
    let stage = try TOTPStage { $0.singleUse = true }
    let record = try await stage.keep()
    _ = try await stage.code(record, "till")
    for file in stage.stage.place.everything() {
      #expect(file.bytes.range(of: Data(TOTPStage.secret.utf8)) == nil, "\(file.name)")
    }
    let account = record.account(for: "till", at: stage.clock.now())
    #expect(try !text(account).contains("GEZDG"))
    #expect(try !text(stage.service.list(TOTPList(), .program())).contains("GEZDG"))
    var dumped = ""
    dump(record, to: &dumped)
    #expect(!dumped.contains("GEZDG"))
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(record.details) }
  }

  private func text(_ value: some Encodable) throws -> String {
    String(decoding: try ReplyEncoder.encode(value), as: UTF8.self)
  }
}
