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
  private let harness: TOTPHarness

  init() throws { harness = try TOTPHarness() }

  @Test("the code of the moment, with its period and its end (contract §8)")
  func code() async throws {
    let record = try await harness.keep()
    for (seconds, code, end) in [
      (0.0, "755224", 60.0), (59.999, "755224", 60), (60, "287082", 120),
      (1_234_567_890, "713351", 1_234_567_920),
    ] {
      harness.clock.time = Timestamp(seconds: seconds)
      let reply = try await harness.ask(record.id)
      #expect(reply.code.revealed() == code)
      #expect(reply.periodSeconds == 60 && reply.expiresAt == Timestamp(seconds: end))
    }
  }

  @Test("digits, period and hash are the provider's")
  func settings() async throws {
    let harness = try TOTPHarness { settings in
      settings.digits = 8
      settings.periodSeconds = 30
      settings.algorithm = .sha1
    }
    let record = try await harness.keep()
    harness.clock.time = Timestamp(seconds: 1_111_111_109)
    let reply = try await harness.ask(record.id)
    #expect(reply.code.revealed() == "07081804" && reply.periodSeconds == 30)
    let other = try harness.restarted { $0.algorithm = .sha256 }
    #expect(try await harness.code(record, at: other).count == 6)
    #expect(try await harness.code(record, at: other) != "081804")
  }

  @Test("as often as one likes, where each is not given once only")
  func often() async throws {
    let record = try await harness.keep()
    #expect(try await harness.code(record) == harness.code(record))
    #expect(harness.repository.record(record.id)?.details.authenticator?.givenUntil == [:])
  }

  @Test("a provider means the only account of it that has a secret")
  func byProvider() async throws {
    let none = try await harness.refusal(provider: TOTPHarness.provider)
    #expect(none?.reason == .interactionRequired && none?.detail.next?.provider.rawValue == "bsa")
    let bare = try await harness.keep("bare", secret: nil)
    #expect(try await harness.refusal(provider: TOTPHarness.provider)?.reason == .notFound)
    #expect(try await harness.refusal(bare.id)?.reason == .notFound)
    let first = try await harness.keep("first")
    let code = try await harness.code(first)
    #expect(try await harness.ask(provider: TOTPHarness.provider).code.revealed() == code)
    try await harness.keep("second")
    let several = try await harness.refusal(provider: TOTPHarness.provider)
    #expect(several?.reason == .invalidParams && several?.detail.field == "account")
    #expect(several?.message == "there are 2 accounts of provider bsa: name one")
  }

  @Test("account or provider must be there, and belong together")
  func naming() async throws {
    let record = try await harness.keep()
    let nothing = try await harness.refusal()
    #expect(nothing?.reason == .invalidParams && nothing?.detail.field == "account")
    let wrong = try await harness.refusal(record.id, provider: .work)
    #expect(wrong?.reason == .invalidParams && wrong?.detail.field == "provider")
    #expect(try await harness.refusal(record.id, provider: TOTPHarness.provider) == nil)
    #expect(try await harness.refusal(provider: .work)?.message == "there is no provider work")
  }

  @Test("somebody else's account is not found, as one that there is not")
  func others() async throws {
    let record = try await harness.keep()
    let other = try #require(try await harness.refusal(record.id, of: .bert))
    try await harness.harness.store.commit([.deleteAccount(record.id)])
    harness.repository.remove(record)
    let gone = try #require(try await harness.refusal(record.id, of: .bert))
    #expect(other.reason == .notFound && other.reason == gone.reason)
    #expect(other.message == gone.message && other.detail == gone.detail)
  }

  @Test("a provider that is configured no more is not found, and its accounts are not listed")
  func unconfigured() async throws {
    let harness = try TOTPHarness(isConfigured: false)
    let record = try await harness.keep()
    let error = try await harness.refusal(record.id)
    #expect(error?.reason == .notFound && error?.message == "there is no provider bsa")
    #expect(try harness.service.list(TOTPList(), .program()).accounts.isEmpty)
  }

  @Test("a secret that is none is an error, and nothing breaks")
  func unreadable() async throws {
    for secret in ["", "not base32!", "GEZDGNBV"] {
      let record = try await harness.keep(secret: secret)
      let error = try await harness.refusal(record.id)
      #expect(error?.reason == .internalError)
      #expect(error.map { secret.isEmpty || !$0.message.contains(secret) } == true)
    }
  }

  @Test("of an account by consent, to a client that was granted all of it; never the daemon's own")
  func guarded() async throws {
    func keep(_ granted: [String], scope: String) async throws -> AccountRecord {
      try await harness.keep { grant in
        let consented = AccountGrant.consented(
          nil, granted: granted, tokens: .sample(scope: scope))
        grant.tokens = consented.tokens
        grant.isByConsent = true
        grant.consents = consented.consents
      }
    }
    var record = try await keep(["email"], scope: "read.email read.firstname")
    #expect(try await harness.refusal(record.id, "till")?.reason == .consentRequired)
    record = try await keep(["email", "firstname"], scope: "read.email read.firstname")
    #expect(try await harness.refusal(record.id, "till") == nil)
    #expect(try await harness.refusal(record.id, "desk")?.reason == .consentRequired)
    #expect(try await harness.refusal(record.id, isAdmin: true)?.reason == .consentRequired)
    record = try await keep(["email"], scope: "")
    #expect(try await harness.refusal(record.id, "till")?.reason == .consentRequired)

    record = try await harness.keep("own") { grant in
      grant.tokens = .sample()
      grant.tokensAreInternal = true
    }
    let error = try await harness.refusal(record.id, "till")
    #expect(error?.reason == .permissionDenied)
    #expect(error?.message == "the codes of this account are the daemon's own")
  }

  @Test("totp.list names the caller's accounts that have a secret, and no secret")
  func list() async throws {
    let harness = try TOTPHarness { $0.digits = 7 }
    let record = try await harness.keep()
    try await harness.keep("bare", secret: nil)
    try await harness.keep(owner: .bert)
    let entry = TOTPList.Entry(
      account: record.id, provider: TOTPHarness.provider, label: "anna", periodSeconds: 60,
      digits: 7)
    #expect(try harness.service.list(TOTPList(), .program()).accounts == [entry])
    #expect(
      try harness.service.list(TOTPList(provider: TOTPHarness.provider), .program()).accounts == [
        entry
      ]
    )
    #expect(try harness.service.list(TOTPList(provider: .work), .program()).accounts.isEmpty)
  }
}

@Suite("The secret of an account's authenticator")
struct TOTPSecretTests {
  @Test("stays where a later flow brings none, with tokens or without; a new one takes its place")
  func kept() async throws {
    let harness = try TOTPHarness { $0.singleUse = true }
    var record = try await harness.keep()
    let code = try await harness.code(record, "till")
    record = try await harness.keep(secret: nil)
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPHarness.secret)))
    record = try await harness.keep(secret: nil) { $0.tokens = .sample() }
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPHarness.secret)))
    #expect(try await harness.refusal(record.id, "till")?.reason == .rateLimited)
    record = try await harness.keep()
    #expect(try await harness.refusal(record.id, "till")?.reason == .rateLimited, "the same secret")
    record = try await harness.keep(secret: String(TOTPHarness.secret.reversed()))
    #expect(try await harness.code(record, "till") != code, "of a new one none was given")
  }

  @Test("leaves in nothing: neither row nor account, token, event or error has it")
  func canary() async throws {
    let harness = try TOTPHarness { $0.singleUse = true }
    let record = try await harness.keep()
    _ = try await harness.code(record, "till")
    for file in harness.harness.place.everything() {
      #expect(file.bytes.range(of: Data(TOTPHarness.secret.utf8)) == nil, "\(file.name)")
    }
    let account = record.account(for: "till", at: harness.clock.now())
    #expect(try !text(account).contains("GEZDG"))
    #expect(try !text(harness.service.list(TOTPList(), .program())).contains("GEZDG"))
    var dumped = ""
    dump(record, to: &dumped)
    #expect(!dumped.contains("GEZDG"))
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(record.details) }
  }

  private func text(_ value: some Encodable) throws -> String {
    String(decoding: try ReplyEncoder.encode(value), as: UTF8.self)
  }
}
