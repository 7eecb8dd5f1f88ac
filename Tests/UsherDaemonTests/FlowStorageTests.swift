import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Flows while the disk fails", .mayBlock, .timeLimit(.minutes(10)))
struct FlowStorageTests {
  private let harness: FlowHarness

  init() throws { harness = try FlowHarness() }

  @Test("flow.submit and flow.cancel fail while the disk fails, change nothing, and succeed later")
  func asked() async throws {
    let session = try await harness.open()
    let disk = try FailingDisk(harness)
    #expect(await harness.type("call", session) == .storageUnavailable)
    #expect(await harness.cancel(session) == .storageUnavailable)
    #expect(session.snapshot.revision == 1)
    #expect(session.flow.status == .active)
    #expect(session.flow.state == "asking")
    try disk.mend()
    #expect(await harness.type("call", session) == nil)
    try await reached("the effect of the accepted input is performed") {
      harness.probe.seen.map(\.revision) == [2]
    }
  }

  @Test("a flow that cannot be stored is not started")
  func opening() async throws {
    let disk = try FailingDisk(harness)
    let error = await #expect(throws: UsherError.self) {
      try await harness.open([.call(harness.call)])
    }
    #expect(error?.reason == .storageUnavailable)
    try disk.mend()
    #expect(try harness.store.loadFlows().isEmpty)
    #expect(harness.probe.seen.isEmpty)
  }

  @Test("a provider's reply is retried until it is stored, and inputs are refused meanwhile")
  func provider() async throws {
    let session = try await harness.open()
    let disk = try FailingDisk(harness)
    harness.answer(session)
    try await harness.scheduler.isSet(.milliseconds(200))
    #expect(session.flow.state == "asking")
    // Delivered before time passes, because a later input waits for the next attempt.
    let told = Recorded<UsherError.Reason?>()
    harness.engine.deliver(
      .request(.submit(.code(Secret("impatient"), fields: [:]), revision: 1)) { result in
        if case .failure(let error) = result { told.add(error.reason) } else { told.add(nil) }
      }, to: session)
    for pause in [200, 400, 800] {
      try await harness.scheduler.isSet(.milliseconds(pause))
      harness.scheduler.advance(by: .milliseconds(pause))
    }
    try await harness.scheduler.isSet(.milliseconds(1600))
    #expect(told.all == [.storageUnavailable])
    try disk.mend()
    harness.scheduler.advance(by: .milliseconds(1600))
    try await reached("the provider's reply is stored") { session.flow.state == "answered effect" }
    #expect(try harness.row(session).state == "answered effect")
    #expect(await harness.type("on", session) == nil)
  }

  @Test("the expiry of a flow that cannot be stored is stored later")
  func expiry() async throws {
    let session = try await harness.open()
    let disk = try FailingDisk(harness)
    harness.scheduler.advance(by: FlowHarness.deadline)
    try await harness.scheduler.isSet(.milliseconds(200))
    #expect(session.flow.status == .active)
    try disk.mend()
    harness.scheduler.advance(by: .milliseconds(200))
    try await reached("the flow has expired") { session.flow.status == .expired }
    #expect(try harness.row(session).status == "expired")
  }

  @Test("a flow ends and undoes its call if the store refuses the decision about an event for good")
  func refused() async throws {
    let session = try await harness.open()
    #expect(await harness.type("earned", session) == nil)
    harness.store.checkOwners { _ throws(UsherError) in
      throw UsherError(.permissionDenied, "the owner's data was deleted")
    }
    // The expiry would store the account that the flow has earned.
    harness.scheduler.advance(by: FlowHarness.deadline)
    try await reached("the flow has ended") { session.flow.status == .failed }
    #expect(session.flow.failure?.reason == .denied)
    #expect(try harness.row(session).status == "failed")
    try await reached("the call is undone") { harness.probe.seen.map(\.call) == ["abandon"] }
    #expect(try harness.store.loadAccounts().isEmpty)
  }

  @Test("a flow whose account cannot be stored stays as it is, and stores it on the mended disk")
  func storing() async throws {
    let session = try await harness.open(client: "till")
    let disk = try FailingDisk(harness)
    #expect(await harness.type("store", session) == .storageUnavailable)
    #expect(try harness.repository.accounts(of: .anna).isEmpty)
    #expect(session.flow.state == "asking")
    try disk.mend()
    #expect(try harness.store.loadAccounts().isEmpty)
    #expect(await harness.type("store", session) == nil)
    #expect(try harness.repository.accounts(of: .anna).count == 1)
  }
}
