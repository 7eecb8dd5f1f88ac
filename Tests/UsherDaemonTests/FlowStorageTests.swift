import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("A flow while the disk refuses", .mayBlock)
struct FlowStorageTests {
  private let stage: FlowStage

  init() throws { stage = try FlowStage() }

  @Test("what a person asks for is refused, changes nothing, and works when the disk does")
  func asked() async throws {
    let session = try await stage.open()
    let disk = try FailingDisk(stage)
    #expect(await stage.type("call", session) == .storageUnavailable)
    #expect(await stage.cancel(session) == .storageUnavailable)
    #expect(session.standing.revision == 1)
    #expect(session.flow.status == .active)
    #expect(session.flow.state == "asking")
    try disk.mend()
    #expect(await stage.type("call", session) == nil)
    try await reached("the effect of the one that was taken") {
      stage.probe.seen.map(\.revision) == [2]
    }
  }

  @Test("a flow that cannot be written is not begun")
  func opening() async throws {
    let disk = try FailingDisk(stage)
    let error = await #expect(throws: UsherError.self) {
      try await stage.open([.call(stage.call)])
    }
    #expect(error?.reason == .storageUnavailable)
    try disk.mend()
    #expect(try stage.store.loadFlows().isEmpty)
    #expect(stage.probe.seen.isEmpty)
  }

  @Test("what a provider answered is tried again until it is written; people are told meanwhile")
  func provider() async throws {
    let session = try await stage.open()
    let disk = try FailingDisk(stage)
    stage.answer(session)
    try await stage.scheduler.isSet(.milliseconds(200))
    #expect(session.flow.state == "asking")
    // Delivered before time passes: an input that comes later waits for the next try.
    let told = Recorded<UsherError.Reason?>()
    stage.runner.deliver(
      .submit(.code(Secret("impatient"), fields: [:]), revision: 1) { result in
        if case .failure(let error) = result { told.add(error.reason) } else { told.add(nil) }
      }, to: session)
    for pause in [200, 400, 800] {
      try await stage.scheduler.isSet(.milliseconds(pause))
      stage.scheduler.advance(by: .milliseconds(pause))
    }
    try await stage.scheduler.isSet(.milliseconds(1600))
    #expect(told.all == [.storageUnavailable])
    try disk.mend()
    stage.scheduler.advance(by: .milliseconds(1600))
    try await reached("the answer is taken") { session.flow.state == "answered effect" }
    #expect(try stage.row(session).state == "answered effect")
    #expect(await stage.type("on", session) == nil)
  }

  @Test("a deadline that cannot be written is written later")
  func expiry() async throws {
    let session = try await stage.open()
    let disk = try FailingDisk(stage)
    stage.scheduler.advance(by: FlowStage.deadline)
    try await stage.scheduler.isSet(.milliseconds(200))
    #expect(session.flow.status == .active)
    try disk.mend()
    stage.scheduler.advance(by: .milliseconds(200))
    try await reached("it expires") { session.flow.status == .expired }
    #expect(try stage.row(session).status == "expired")
  }

  @Test("an account is not kept and nobody is told, and it works when the disk does")
  func keeping() async throws {
    let session = try await stage.open(client: "till")
    let disk = try FailingDisk(stage)
    #expect(await stage.type("keep", session) == .storageUnavailable)
    #expect(try stage.book.accounts(of: .anna).isEmpty)
    #expect(session.flow.state == "asking")
    try disk.mend()
    #expect(try stage.store.loadAccounts().isEmpty)
    #expect(await stage.type("keep", session) == nil)
    #expect(try stage.book.accounts(of: .anna).count == 1)
  }
}
