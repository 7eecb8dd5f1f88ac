import NIOCore

@testable import UsherTransport

/// Wraps the scheduler in a class, so that an expectation may call its mutating methods.
final class FairShares {
  private var share = FairScheduler(
    FairScheduler.Terms(sharePercent: 25, connectAttempts: 5, callsInFlight: 3))

  var isShared: Bool { share.isShared }

  func add(
    _ connectionID: Int, of party: FairScheduler.Party, cost: TimeAmount, at now: NIODeadline
  ) -> Bool {
    share.add(connectionID, of: party, cost: cost, at: now)
  }

  func remove(_ connectionID: Int, of party: FairScheduler.Party, at now: NIODeadline) {
    share.remove(connectionID, of: party, at: now)
  }

  func recordCalls(on connectionID: Int, of party: FairScheduler.Party, at now: NIODeadline) -> Bool
  {
    share.recordCalls(on: connectionID, of: party, at: now)
  }

  func recordWork(
    _ connectionID: Int, of party: FairScheduler.Party, since start: NIODeadline,
    remaining: FairScheduler.RemainingWork,
    at now: NIODeadline
  ) -> Bool {
    share.recordWork(connectionID, of: party, since: start, remaining: remaining, at: now)
  }

  func beginCall(of party: FairScheduler.Party, at now: NIODeadline) -> Bool {
    share.beginCall(of: party, at: now)
  }

  func chargeDiskRead(of party: FairScheduler.Party, at now: NIODeadline) {
    share.chargeDiskRead(of: party, at: now)
  }

  func endCall(of party: FairScheduler.Party) { share.endCall(of: party) }

  func chargeConnectAttempt(_ cost: TimeAmount, _ party: FairScheduler.Party, at now: NIODeadline)
    -> Bool
  {
    share.chargeConnectAttempt(cost, party, at: now)
  }

  func admit(
    _ party: FairScheduler.Party, isCrowded: Bool = false, at now: NIODeadline
  ) -> FairScheduler.ConnectionDecision {
    share.admit(party, isCrowded: isCrowded, at: now)
  }

  func nextTurn() -> NIODeadline? { share.nextTurn() }

  func next(at now: NIODeadline) -> FairScheduler.Step { share.next(at: now) }
}
