import Foundation
import Logging
import NIOCore
import NIOPosix
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit
import UsherTransport

@testable import UsherDaemon

@Suite("Reload", .timeLimit(.minutes(10)))
struct ReloadTests {
  private let harness: LockControllerHarness
  private let other = ProviderName("other")

  init() throws { harness = try LockControllerHarness() }

  private func reload(_ lockController: LockController) async throws -> [ConfigProblem] {
    try await Reload(lockController: lockController).run()
  }

  private func provider(_ name: ProviderName, client: String = "usher") throws -> ProviderConfig {
    let issuer = try ProviderURL(setting: "https://\(name).example")
    return ProviderConfig(
      name: name, settings: OIDCSettings(issuer: issuer, clientID: client))
  }

  private func names(_ lockController: LockController) throws -> [ProviderName] {
    try lockController.services().dependencies.config.providers.map(\.name)
  }

  @Test("a reload applies providers, limits and rules at once")
  func whole() async throws {
    let lockController = try await harness.begun()
    let added = try provider(other)
    try harness.files.change {
      $0.providers.append(added)
      $0.limits.connections = 100
      $0.clients = [ClientRule(name: "till", match: ClientMatch(user: .id(1000)), allow: [])]
    }
    #expect(try names(lockController) == [.work])
    #expect(try await reload(lockController).isEmpty)
    #expect(try names(lockController) == [.work, other])
    #expect(lockController.processContext.dependencies.config.limits.connections == 100)
    #expect(lockController.processContext.policies.list().rules.map(\.name) == ["till"])
    let check = PolicyCheck(user: "1000", method: "token.get", provider: other)
    #expect(try await lockController.processContext.policies.check(check).client == "till")
    await lockController.end()
  }

  @Test("a reload with an error changes nothing and tells systemd and the caller")
  func failed() async throws {
    let lockController = try await harness.begun()
    let before = lockController.processContext.dependencies.configStore.current
    harness.files.spoil("must be a number")
    let caller = try Caller.program(isAdmin: true)
    let reply = try await ReloadService(lockController: lockController).reload(caller)
    #expect(
      reply.problems == [
        .init(file: "u.toml", line: 3, column: 1, key: "a", message: "must be a number")
      ])
    #expect(lockController.processContext.dependencies.configStore.current === before)
    let told = harness.told.all.suffix(2)
    #expect(told.first?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
    #expect(
      told.last
        == "READY=1\nSTATUS=Serving 1 provider; the last reload failed: 1 problem, see the journal")
    await lockController.end()
  }

  @Test("a reload reports the first 100 of 102 problems and the number of the rest")
  func manyProblems() async throws {
    let lockController = try await harness.begun()
    harness.files.spoil("must be a number", times: 102)
    let reply = try await ReloadService(lockController: lockController).reload(
      try .program(isAdmin: true))
    #expect(reply.problems.count == 101)
    #expect(reply.problems.last == .init(message: "and 2 more problems"))
    await lockController.end()
  }

  @Test("the status of a locked daemon shows a failed reload until one succeeds")
  func status() async throws {
    let lockController = try await harness.begun()
    let config = try harness.files.read()
    harness.files.spoil("must be a number")
    _ = try await reload(lockController)
    try await lockController.lock()
    #expect(lockController.status == "Locked; the last reload failed: 1 problem, see the journal")
    harness.files.mend(config)
    #expect(try await reload(lockController).isEmpty)
    #expect(lockController.status == "Locked")
    await lockController.end()
  }

  @Test("a reload with another store.url is refused and says what to do")
  func database() async throws {
    let lockController = try await harness.begun()
    try harness.files.change { $0.store.url = .sqlite(path: "another.db") }
    let problems = try await reload(lockController)
    #expect(problems.map(\.key) == ["store.url"])
    #expect(
      problems.first?.message
        == "cannot be changed from \"sqlite:usherd.db\" while usherd runs; stop usherd first")
    #expect(lockController.processContext.dependencies.config.store == StoreSettings.blank)
    await lockController.end()
  }

  @Test("a reload with a rule for an unknown user is refused and names the rule")
  func unknownUser() async throws {
    let lockController = try await harness.begun()
    try harness.files.change {
      $0.clients = [
        ClientRule(name: "till", match: ClientMatch(user: .name("no-such-user-here")), allow: [])
      ]
    }
    #expect(try await reload(lockController).map(\.key) == ["client[0].match.user"])
    #expect(lockController.processContext.policies.list().rules.isEmpty)
    await lockController.end()
  }

  @Test("a reload of a locked daemon applies after the unlock")
  func locked() async throws {
    let lockController = try await harness.begun()
    try await lockController.lock()
    let added = try provider(other)
    try harness.files.change { $0.providers.append(added) }
    #expect(try await reload(lockController).isEmpty)
    #expect(harness.told.all.last == "READY=1\nSTATUS=Locked")
    try await lockController.unlock()
    #expect(try names(lockController) == [.work, other])
    #expect(harness.told.all.last == "READY=1\nSTATUS=Serving 2 providers")
    await lockController.end()
  }

  @Test("a reload applies on the event loop of the sockets, locked or not")
  func betweenCalls() async throws {
    let loop = try SocketLoop()
    let places = Recorded<Bool>()
    var setting = harness.setting
    setting.applyLogSettings = { _ in places.add(loop.isOnLoop) }
    let lockController = LockController(
      ProcessContext(
        setting, harness.dependencies, on: MultiThreadedEventLoopGroup.singleton, serving: loop))
    try await lockController.begin()
    #expect(try await reload(lockController).isEmpty)
    try await lockController.lock()
    #expect(try await reload(lockController).isEmpty)
    #expect(places.all == [true, true])
    await lockController.end()
    await loop.stop()
  }

  @Test("a reload of a stopping daemon fails with shutting_down")
  func stopping() async throws {
    let lockController = try await harness.begun()
    await lockController.end()
    let error = await #expect(throws: UsherError.self) { try await reload(lockController) }
    #expect(error?.reason == .shuttingDown)
  }

  @Test("after 60 concurrent reloads with locks and unlocks, the last reload applies")
  func many() async throws {
    let lockController = try await harness.begun()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<60 {
        group.addTask {
          try harness.files.change { $0.limits.connections = 100 + number }
          _ = try await reload(lockController)
        }
        guard number.isMultiple(of: 20) else { continue }
        group.addTask {
          try await lockController.lock()
          try await lockController.unlock()
        }
      }
      try await group.waitForAll()
    }
    try harness.files.change { $0.limits.connections = 99 }
    #expect(try await reload(lockController).isEmpty)
    #expect(lockController.processContext.dependencies.config.limits.connections == 99)
    #expect(lockController.unlocked != nil)
    await lockController.end()
  }

  @Test("a reload that waits for its files does not block lock, unlock and stop")
  func slow() async throws {
    let lockController = try await harness.begun()
    let held = harness.files.hold()
    let waiting = Task { try await reload(lockController) }
    try await reached("the reload waits for its files") { held.isAwaited }
    try await lockController.lock()
    try await lockController.unlock()
    await lockController.end()
    held.letGo()
    let error = await #expect(throws: UsherError.self) { try await waiting.value }
    #expect(error?.reason == .shuttingDown)
  }

  @Test("a reload without a provider keeps its accounts, whose tokens are not found meanwhile")
  func providerGone() async throws {
    let lockController = try await harness.begun()
    let services = try lockController.services()
    let record = try await services.repository.persist()
    let anna = try Caller.program()
    let get = TokenGet(account: record.id)
    _ = try services.tokens.get(get, anna)
    let work = try harness.files.read().providers
    try harness.files.change { $0.providers = [] }
    _ = try await reload(lockController)
    let error = #expect(throws: UsherError.self) { try services.tokens.get(get, anna) }
    #expect(error?.reason == .notFound && error?.message == "provider work does not exist")
    #expect(try services.accounts.list(nil, anna).accounts.map(\.id) == [record.id])
    try harness.files.change { $0.providers = work }
    _ = try await reload(lockController)
    _ = try services.tokens.get(get, anna)
    await lockController.end()
  }

  @Test("a reload resets the health of a changed provider and keeps that of others")
  func changed() async throws {
    let added = try provider(other)
    try harness.files.change { $0.providers.append(added) }
    let lockController = try await harness.begun()
    _ = try await reload(lockController)
    let health = try lockController.services().health
    for provider in try lockController.services().dependencies.config.providers {
      health.record(
        .unreachable(message: "gone", sent: false), of: provider, at: harness.clock.now())
    }
    _ = try await reload(lockController)
    #expect(health.health(of: other) == .failing && health.health(of: .work) == .failing)
    let next = try provider(other, client: "another")
    try harness.files.change { $0.providers[1] = next }
    _ = try await reload(lockController)
    #expect(health.health(of: other) == .unknown && health.health(of: .work) == .failing)
    await lockController.end()
  }
}

@Suite("Reload of systemd credentials", .timeLimit(.minutes(10)))
struct CredentialReloadTests {
  private let harness: LockControllerHarness

  init() throws {
    harness = try LockControllerHarness()
    let key = String(repeating: "0123456789abcdef", count: 4)
    try harness.place.write(key, to: "credentials/usherd.master-key")
    try harness.place.write("one\n", to: "credentials/key")
  }

  private func value(_ lockController: LockController) throws -> String? {
    try lockController.services().credentials.credential(named: "key")?.revealed()
  }

  @Test("a reload reads the present systemd credentials, which otherwise stay as they were")
  func moment() async throws {
    let lockController = try await harness.begun()
    #expect(try value(lockController) == "one")
    try harness.place.write("two\n", to: "credentials/key")
    try harness.place.write("new\n", to: "credentials/second")
    #expect(try value(lockController) == "one")
    #expect(try await Reload(lockController: lockController).run().isEmpty)
    #expect(try value(lockController) == "two")
    #expect(
      try lockController.services().credentials.list().credentials.map(\.name) == ["key", "second"])
    await lockController.end()
  }

  @Test("a reload with an unreadable systemd credential names it and changes nothing")
  func unreadable() async throws {
    let lockController = try await harness.begun()
    try harness.place.write("two\n", to: "credentials/key")
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: harness.place.file("credentials/odd")))
    try harness.files.change { $0.limits.connections = 99 }
    let problems = try await Reload(lockController: lockController).run()
    #expect(problems.map(\.file) == [harness.place.file("credentials/odd")])
    #expect(problems.first?.message == "the credential odd is not text in UTF-8")
    #expect(try value(lockController) == "one")
    #expect(lockController.processContext.dependencies.config.limits.connections != 99)
    await lockController.end()
  }

  @Test("a daemon starts with an unreadable systemd credential, which fails when it is used")
  func start() async throws {
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: harness.place.file("credentials/odd")))
    let lockController = try await harness.begun()
    let credentials = try lockController.services().credentials
    let error = #expect(throws: UsherError.self) { try credentials.credential(named: "odd") }
    #expect(error?.message == "systemd's credential odd cannot be read")
    #expect(try value(lockController) == "one")
    await lockController.end()
  }
}
