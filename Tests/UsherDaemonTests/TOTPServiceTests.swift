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

@Suite("totp.code and totp.list", .timeLimit(.minutes(10)))
struct TOTPServiceTests {
  private let harness: TOTPHarness

  init() throws { harness = try TOTPHarness() }

  @Test("totp.code returns the current code with its period and end, as in the RFC 4226 vectors")
  func code() async throws {
    let record = try await harness.persist()
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

  @Test("totp.code uses the digits, period and hash of the provider's settings")
  func settings() async throws {
    let harness = try TOTPHarness { settings in
      settings.digits = 8
      settings.periodSeconds = 30
      settings.algorithm = .sha1
    }
    let record = try await harness.persist()
    harness.clock.time = Timestamp(seconds: 1_111_111_109)
    let reply = try await harness.ask(record.id)
    #expect(reply.code.revealed() == "07081804" && reply.periodSeconds == 30)
    let other = try harness.restarted { $0.algorithm = .sha256 }
    #expect(try await harness.code(record, at: other).count == 6)
    #expect(try await harness.code(record, at: other) != "081804")
  }

  @Test("without single_use, totp.code returns the same code repeatedly")
  func often() async throws {
    let record = try await harness.persist()
    #expect(try await harness.code(record) == harness.code(record))
    #expect(harness.repository.record(record.id)?.details.authenticator?.givenUntil == [:])
  }

  @Test("totp.code with a provider uses its only account with a secret, or names the problem")
  func byProvider() async throws {
    let none = try await harness.refusal(provider: TOTPHarness.provider)
    #expect(none?.reason == .interactionRequired && none?.detail.next?.provider.rawValue == "bsa")
    let bare = try await harness.persist("bare", secret: nil)
    #expect(try await harness.refusal(provider: TOTPHarness.provider)?.reason == .notFound)
    #expect(try await harness.refusal(bare.id)?.reason == .notFound)
    let first = try await harness.persist("first")
    let code = try await harness.code(first)
    #expect(try await harness.ask(provider: TOTPHarness.provider).code.revealed() == code)
    try await harness.persist("second")
    let several = try await harness.refusal(provider: TOTPHarness.provider)
    #expect(several?.reason == .invalidParams && several?.detail.field == "account")
    #expect(several?.message == "there are 2 accounts at provider bsa: name one")
  }

  @Test("totp.code needs an account or a provider, and both must match")
  func naming() async throws {
    let record = try await harness.persist()
    let nothing = try await harness.refusal()
    #expect(nothing?.reason == .invalidParams && nothing?.detail.field == "account")
    let wrong = try await harness.refusal(record.id, provider: .work)
    #expect(wrong?.reason == .invalidParams && wrong?.detail.field == "provider")
    #expect(try await harness.refusal(record.id, provider: TOTPHarness.provider) == nil)
    #expect(try await harness.refusal(provider: .work)?.message == "provider work does not exist")
  }

  @Test("totp.code reports another owner's account like one that does not exist")
  func others() async throws {
    let record = try await harness.persist()
    let other = try #require(try await harness.refusal(record.id, of: .bert))
    try await harness.harness.store.commit([.deleteAccount(record.id)])
    harness.repository.remove(record)
    let gone = try #require(try await harness.refusal(record.id, of: .bert))
    #expect(other.reason == .notFound && other.reason == gone.reason)
    #expect(other.message == gone.message && other.detail == gone.detail)
  }

  @Test("totp.code at a removed provider fails as not found, and totp.list omits its accounts")
  func unconfigured() async throws {
    let harness = try TOTPHarness(isConfigured: false)
    let record = try await harness.persist()
    let error = try await harness.refusal(record.id)
    #expect(error?.reason == .notFound && error?.message == "provider bsa does not exist")
    #expect(try harness.service.list(TOTPList(), .program()).accounts.isEmpty)
  }

  @Test("totp.code with an invalid secret is an internal error that does not quote the secret")
  func unreadable() async throws {
    for secret in ["", "not base32!", "GEZDGNBV"] {
      let record = try await harness.persist(secret: secret)
      let error = try await harness.refusal(record.id)
      #expect(error?.reason == .internalError)
      #expect(error.map { secret.isEmpty || !$0.message.contains(secret) } == true)
    }
  }

  @Test("totp.code needs consent for an account's whole scope, and internal accounts have no codes")
  func guarded() async throws {
    func persist(_ granted: [String], scope: String) async throws -> AccountRecord {
      try await harness.persist { grant in
        let consented = AccountGrant.consented(
          nil, granted: granted, tokens: .sample(scope: scope))
        grant.tokens = consented.tokens
        grant.isByConsent = true
        grant.consents = consented.consents
      }
    }
    var record = try await persist(["email"], scope: "read.email read.firstname")
    #expect(try await harness.refusal(record.id, "till")?.reason == .consentRequired)
    record = try await persist(["email", "firstname"], scope: "read.email read.firstname")
    #expect(try await harness.refusal(record.id, "till") == nil)
    #expect(try await harness.refusal(record.id, "desk")?.reason == .consentRequired)
    #expect(try await harness.refusal(record.id, isAdmin: true)?.reason == .consentRequired)
    record = try await persist(["email"], scope: "")
    #expect(try await harness.refusal(record.id, "till")?.reason == .consentRequired)

    record = try await harness.persist("own") { grant in
      grant.tokens = .sample()
      grant.tokensAreInternal = true
    }
    let error = try await harness.refusal(record.id, "till")
    #expect(error?.reason == .permissionDenied)
    #expect(error?.message == "the codes of this account are for the daemon only")
  }

  @Test("totp.list lists the caller's accounts with a secret, without the secret")
  func list() async throws {
    let harness = try TOTPHarness { $0.digits = 7 }
    let record = try await harness.persist()
    try await harness.persist("bare", secret: nil)
    try await harness.persist(owner: .bert)
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

@Suite("TOTP secrets of accounts", .timeLimit(.minutes(10)))
struct TOTPSecretTests {
  @Test("an account keeps its TOTP secret if a sign-in brings none, and a new secret replaces it")
  func kept() async throws {
    let harness = try TOTPHarness { $0.singleUse = true }
    var record = try await harness.persist()
    let code = try await harness.code(record, "till")
    record = try await harness.persist(secret: nil)
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPHarness.secret)))
    record = try await harness.persist(secret: nil) { $0.tokens = .sample() }
    #expect(record.details.authenticator?.secret == Sealed(Secret(TOTPHarness.secret)))
    #expect(try await harness.refusal(record.id, "till")?.reason == .rateLimited)
    record = try await harness.persist()
    #expect(try await harness.refusal(record.id, "till")?.reason == .rateLimited, "the same secret")
    record = try await harness.persist(secret: String(TOTPHarness.secret.reversed()))
    #expect(try await harness.code(record, "till") != code, "of a new one none was given")
  }

  @Test("a TOTP secret is in plaintext in no file, totp.list, account.get or dump() of the account")
  func canary() async throws {
    let harness = try TOTPHarness { $0.singleUse = true }
    let record = try await harness.persist()
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
