import Foundation
import JSONRPC
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit
import UsherTransport

@testable import UsherDaemon
@testable import UsherSystem

@Suite("Injected dependencies of the daemon", .timeLimit(.minutes(10)))
struct DependenciesTests {
  @Test("flows call their provider through the injected transport, on the injected executor")
  func transportAndExecutor() async throws {
    let (harness, transport, executor) = (
      try LockControllerHarness(), AnsweringTransport(), OwnThreads()
    )
    var setting = harness.setting
    setting.transport = { _ in transport }
    let dependencies = Dependencies.fake(
      harness.clock, harness.scheduler, config: setting.config, executor: executor)
    let lockController = try await begun(setting, dependencies)
    let reply = try await lockController.services().flows.start(
      FlowStart(provider: .work, kind: "authorize", params: [:], waitMs: 10_000), .program())
    #expect(reply.flow.step?.kind == .openURL, "\(reply.flow)")
    let calls = transport.calls.withLock { $0 }
    #expect(calls.map(\.url).first == "https://id.example/.well-known/openid-configuration")
    for call in calls { #expect(call.executor == executor.asUnownedTaskExecutor(), "\(call.url)") }
    await lockController.end()
    #expect(transport.isShutDown.withLock { $0 })
  }

  @Test("the store is opened through the injected disk, and its error ends the start")
  func disk() async throws {
    let harness = try LockControllerHarness()
    var setting = harness.setting
    setting.disk.exists = { _ in false }
    setting.disk.openStore = { (_: StoreAccess) throws(UsherError) -> Store in
      throw UsherError(.storageUnavailable, "input/output error")
    }
    let error = await #expect(throws: UsherError.self) {
      try await begun(setting, harness.dependencies)
    }
    #expect(error?.message == "input/output error")
  }

  @Test("backup copies of the database older than an hour are removed, and other files stay")
  func copies() {
    let now = Timestamp(seconds: 1_800_000_000)
    let files = [
      "usherd.db": now - .seconds(7200), "usherd.db.backup-old": now - .seconds(3601),
      "usherd.db.backup-new": now - .seconds(3599), "other.backup-old": now - .seconds(7200),
    ]
    let removed = Recorded<String>()
    let disk = Disk(
      files: { _ in files.map { DiskFile(name: $0.key, changedAt: $0.value) } },
      remove: { removed.add($0) })
    BackupCopies(database: "/state/usherd.db", on: disk).sweep(before: now - BackupCopies.maxAge)
    #expect(removed.all == ["/state/usherd.db.backup-old"])
  }

  @Test("a passcode is checked while every thread of the blocking pool hangs")
  func computing() async throws {
    let dependencies = Dependencies(
      configStore: .fake(Config()), clock: FakeClock(), entropy: FixedEntropy(),
      scheduler: FakeScheduler(FakeClock()), blocking: HangingPool(), users: .fake,
      processors: 2, log: .silent)
    let harness = try FlowHarness()
    let service = LocalAuthService.fake(dependencies, harness.store, FakeReader())
    let passcode = Secret("till-4711")
    #expect(
      try await service.setPasscode(passcode, old: nil, isReset: false, of: .anna) == .done)
    #expect(await service.check(passcode, of: .anna) == .accepted)
  }

  @Test("the daemon uses the number of processors and the descriptor budget that are injected")
  func processorsAndDescriptors() throws {
    let harness = try LockControllerHarness()
    var setting = harness.setting
    setting.processors = 3
    setting.descriptors = DescriptorBudget(limit: 1024) { 800 }
    let dependencies = Dependencies(
      setting, .fake(setting.config), timersOn: MultiThreadedEventLoopGroup.singleton.any())
    #expect(dependencies.processors == 3)
    #expect(!dependencies.descriptors.hasRoom(for: .caller))
    #expect(dependencies.descriptors.hasRoom(for: .provider))
  }

  @Test("the daemon creates its event loops with the injected function and the injected time shift")
  func eventLoops() async throws {
    let harness = try LockControllerHarness()
    var setting = harness.setting
    let shift = LoopTimeShift()
    setting.timeShift = shift
    setting.eventLoops = { given in
      #expect(given === shift)
      throw TestError("the injected function creates no event loops")
    }
    let daemon = Daemon(setting)
    await #expect(throws: TestError.self) { try await daemon.run() }
  }

  private func begun(_ setting: DaemonSetting, _ dependencies: Dependencies) async throws
    -> LockController
  {
    let lockController = LockController(
      ProcessContext(setting, dependencies, on: MultiThreadedEventLoopGroup.singleton))
    try await lockController.begin()
    await lockController.resume()
    return lockController
  }
}

/// Answers each call with the metadata of an OpenID provider.
final class AnsweringTransport: ProviderTransport {
  struct Call {
    let url: String
    /// The executor of the task that made the call.
    let executor: UnownedTaskExecutor?
  }

  let calls = Mutex<[Call]>([])
  let isShutDown = Mutex(false)

  func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome {
    let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
    calls.withLock { $0.append(Call(url: request.url, executor: executor)) }
    let metadata: JSONValue = [
      "issuer": "https://id.example", "authorization_endpoint": "https://id.example/authorize",
      "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys",
      "response_types_supported": ["code"], "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["RS256"],
      "code_challenge_methods_supported": ["S256"],
    ]
    return .reply(HTTPReply(status: 200, body: metadata.encoded()))
  }

  func retain(_ settings: [HTTPSettings]) {}
  let closing = WorkCounter()
  func shutdown() async { isShutDown.withLock { $0 = true } }
}

/// Runs tasks on its own threads.
private final class OwnThreads: TaskExecutor {
  private let queue = DispatchQueue(label: "test", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A pool whose threads are all in use.
private struct HangingPool: BlockingPool {
  func start(_ body: @escaping @Sendable () -> Void) {}
}
