import NIOCore

extension FairScheduler {
  /// Parameters for sharing the event loop among users.
  package struct Terms {
    /// The share of the loop's time, in percent, that one user gets while other parties make calls.
    var sharePercent: Int
    /// The length of the time slice for which a connection works in one turn.
    var slice = TimeAmount.microseconds(50)
    /// The time for which a party counts as active after its last call.
    var activityWindow = TimeAmount.seconds(10)
    /// The time that a user may use beyond its share before it is throttled, because calls come in
    /// bursts.
    var credit = TimeAmount.milliseconds(1)
    /// The time after a reply within which a call on another connection of the same user counts as
    /// concurrent. A client that waits for the reply before it calls again is not that fast.
    var concurrencyWindow = TimeAmount.microseconds(50)
    /// The maximum number of connects per second of a throttled user.
    var connectAttempts: Int
    /// The maximum number of refused connects per second and user that receive an error. Further
    /// ones are closed without an error.
    var reportedRefusals = 64
    /// The time for which a user stays throttled after it last exceeded its share, and for which it
    /// counts as making concurrent calls.
    var throttlePeriod = TimeAmount.seconds(1)
    /// The upper bound for the wait to which many small costs of a user add up. The cost of a
    /// single call is charged in full.
    var longestWait = TimeAmount.milliseconds(100)
    /// The duration above which a single call has the same effect as concurrent calls.
    var longCall = TimeAmount.milliseconds(1)
    /// The cost of letting the next connection of a throttled user read.
    var listenCost = TimeAmount.microseconds(10)
    /// The cost of a call that runs in an asynchronous task or reads the disk, beside its measured
    /// time on the loop.
    var taskCost = TimeAmount.microseconds(100)
    /// The maximum number of calls of one user that run in asynchronous tasks at the same time.
    var callsInFlight: Int

    package init(sharePercent: Int, connectAttempts: Int, callsInFlight: Int) {
      self.sharePercent = sharePercent
      self.connectAttempts = connectAttempts
      self.callsInFlight = callsInFlight
    }
  }
}
