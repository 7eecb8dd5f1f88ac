import NIOCore

@testable import UsherTransport

/// Wraps the scheduler in a class, so that an expectation may call its mutating methods.
final class FairShares {
  private var share = FairScheduler(
    FairScheduler.Terms(percent: 25, connectAttempts: 5, callsInFlight: 3))

  var isShared: Bool { share.isShared }

  func enter(
    _ connectionID: Int, of party: FairScheduler.Party, cost: TimeAmount, at now: NIODeadline
  ) -> Bool {
    share.enter(connectionID, of: party, cost: cost, at: now)
  }

  func leave(_ connectionID: Int, of party: FairScheduler.Party, at now: NIODeadline) {
    share.leave(connectionID, of: party, at: now)
  }

  func called(_ connectionID: Int, of party: FairScheduler.Party, at now: NIODeadline) -> Bool {
    share.called(connectionID, of: party, at: now)
  }

  func worked(
    _ connectionID: Int, of party: FairScheduler.Party, since start: NIODeadline,
    leaving rest: FairScheduler.Rest,
    at now: NIODeadline
  ) -> Bool {
    share.worked(connectionID, of: party, since: start, leaving: rest, at: now)
  }

  func began(of party: FairScheduler.Party, at now: NIODeadline) -> Bool {
    share.began(of: party, at: now)
  }

  func reads(of party: FairScheduler.Party, at now: NIODeadline) { share.reads(of: party, at: now) }

  func callEnded(of party: FairScheduler.Party) { share.callEnded(of: party) }

  func chargeConnectAttempt(_ cost: TimeAmount, _ party: FairScheduler.Party, at now: NIODeadline)
    -> Bool
  {
    share.chargeConnectAttempt(cost, party, at: now)
  }

  func comes(
    _ party: FairScheduler.Party, isCrowded: Bool = false, at now: NIODeadline
  ) -> FairScheduler.ConnectionDecision {
    share.comes(party, isCrowded: isCrowded, at: now)
  }

  func nextTurn() -> NIODeadline? { share.nextTurn() }

  func next(at now: NIODeadline) -> FairScheduler.Step { share.next(at: now) }
}
