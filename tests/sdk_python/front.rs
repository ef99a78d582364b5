//! An address that stays, in front of a recorder that comes and goes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes connections on to where the recorder is at the moment. While there is none, it closes them.
pub(super) struct Front {
    pub(super) url: String,
    target: Arc<Mutex<Option<String>>>,
}

impl Front {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let target = Arc::new(Mutex::new(None::<String>));
        let current = Arc::clone(&target);
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let target = current.lock().expect("nobody panics with it").clone();
                let server = target.and_then(|target| TcpStream::connect(target).ok());
                if let Some(server) = server {
                    pass_on(client, server);
                }
            }
        });
        Self { url, target }
    }

    /// Sends new connections to a recorder's address, or nowhere.
    pub(super) fn lead_to(&self, url: Option<&str>) {
        let target = url.map(|url| url.trim_start_matches("http://").to_owned());
        *self.target.lock().expect("nobody panics with it") = target;
    }
}

fn pass_on(client: TcpStream, server: TcpStream) {
    let (Ok(to_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    thread::spawn(move || copy(client, to_server));
    thread::spawn(move || copy(server, to_client));
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    // Either end may be gone already.
    drop(to.shutdown(Shutdown::Both));
    drop(from.shutdown(Shutdown::Both));
}
