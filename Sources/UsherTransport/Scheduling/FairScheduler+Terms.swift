import NIOCore

extension FairScheduler {
  /// Parameters for sharing the loop among users.
  package struct Terms {
    /// The share of the loop's time, in percent, of one user while others call.
    var percent: Int
    /// The length of one turn.
    var slice = TimeAmount.microseconds(50)
    /// The time for which a party counts as calling after a call.
    var presence = TimeAmount.seconds(10)
    /// The time that a user may use beyond its share before it is throttled, because calls come in
    /// bursts.
    var credit = TimeAmount.milliseconds(1)
    /// The time after a reply within which a call on another connection counts as concurrent: a
    /// client that waits for the reply first is not that fast.
    var atOnce = TimeAmount.microseconds(50)
    /// The maximum connects per second of a throttled user.
    var connectAttempts: Int
    /// The maximum refused connects per second that get an error.
    var reportedRefusals = 64
    /// The time for which a user stays throttled after it last exceeded its share or made
    /// concurrent calls.
    var memory = TimeAmount.seconds(1)
    /// The upper bound for the wait that many small costs add up to. The cost of a single call is
    /// charged in full.
    var longestWait = TimeAmount.milliseconds(100)
    /// The duration above which a single call counts like concurrent calls.
    var longCall = TimeAmount.milliseconds(1)
    /// The cost of letting the next connection read.
    var listening = TimeAmount.microseconds(10)
    /// The cost of a call that waits, beside its work on the loop.
    var task = TimeAmount.microseconds(100)
    /// The maximum number of waiting calls of one user.
    var callsInFlight: Int

    package init(percent: Int, connectAttempts: Int, callsInFlight: Int) {
      self.percent = percent
      self.connectAttempts = connectAttempts
      self.callsInFlight = callsInFlight
    }
  }
}
