//! What HTTP clients share.

use reqwest::Url;

/// TLS needs one implementation of its algorithms per process; whoever makes a client first installs it.
pub(crate) fn install() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

/// Whether an address is this machine's own: then no proxy of the environment stands between.
pub(crate) fn is_loopback(address: &Url) -> bool {
    match address.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn this_machine_is_told_from_others() {
        for (address, expected) in [
            ("http://127.0.0.1:7171", true),
            ("http://[::1]:7171/x", true),
            ("http://localhost", true),
            ("https://localhost.example", false),
            ("https://api.example", false),
        ] {
            assert_eq!(
                is_loopback(&address.parse().expect("an address")),
                expected,
                "{address}"
            );
        }
    }
}
